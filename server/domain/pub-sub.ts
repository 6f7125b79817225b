/**
 * Messages between processes: balance changes, key revocations, usage. Messages can be lost by design; the database is
 * the source of truth.
 */
export interface PubSub {
  publish(channel: string, message: string): void
  /** Resolves when the subscription is live; the returned function ends it. */
  subscribe(channel: string, listener: (message: string) => void): Promise<() => Promise<void>>
  /** Calls back once messages flow again after a period in which messages to or from this process may have been lost. */
  onResumed(listener: () => void): void
  close(): Promise<void>
}
