import type { Log } from '../domain/log.ts'

type Listener = (message: string) => void

/** Listeners per channel; a function subscribed twice receives everything twice. */
export class ChannelListeners {
  readonly #channels = new Map<string, Set<{ listener: Listener }>>()
  readonly #log: Log

  constructor(log: Log) {
    this.#log = log
  }

  has(channel: string): boolean {
    return this.#channels.has(channel)
  }

  channels(): string[] {
    return [...this.#channels.keys()]
  }

  /** Returns a function that removes this listener; calling it again does nothing. */
  add(channel: string, listener: Listener): () => void {
    const subscription = { listener }
    const subscriptions = this.#channels.get(channel) ?? new Set()
    this.#channels.set(channel, subscriptions.add(subscription))
    return () => {
      subscriptions.delete(subscription)
      if (subscriptions.size === 0 && this.#channels.get(channel) === subscriptions) this.#channels.delete(channel)
    }
  }

  /** A listener that throws does not keep the message from the others. */
  deliver(channel: string, message: string): void {
    for (const { listener } of this.#channels.get(channel) ?? []) {
      try {
        listener(message)
      } catch (error) {
        this.#log.error('a listener failed on a published message', { channel, error })
      }
    }
  }

  clear(): void {
    this.#channels.clear()
  }
}
