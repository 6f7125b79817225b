/** Messages between processes: balance changes, key revocations, usage. Lossy by design; the database is the truth. */
export interface PubSub {
  publish(channel: string, message: string): void
  /** Resolves when the subscription is live; the returned function ends it. */
  subscribe(channel: string, listener: (message: string) => void): Promise<() => Promise<void>>
  /** Calls back once messages flow again that may have been lost meanwhile, those of this process or to it. */
  onResumed(listener: () => void): void
  close(): Promise<void>
}
