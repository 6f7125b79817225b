import type { Log } from '../../domain/log.ts'
import type { PubSub } from '../../domain/pub-sub.ts'
import { ChannelListeners } from '../channel-listeners.ts'

/** Delivery within one process. Listeners never run inside the publisher's call. */
export class MemoryPubSub implements PubSub {
  readonly #listeners: ChannelListeners

  constructor(log: Log) {
    this.#listeners = new ChannelListeners(log)
  }

  publish(channel: string, message: string): void {
    if (this.#listeners.has(channel)) queueMicrotask(() => this.#listeners.deliver(channel, message))
  }

  subscribe(channel: string, listener: (message: string) => void): Promise<() => Promise<void>> {
    const remove = this.#listeners.add(channel, listener)
    return Promise.resolve(() => {
      remove()
      return Promise.resolve()
    })
  }

  /** Never called: nothing is lost within one process. */
  onResumed(): void {}

  close(): Promise<void> {
    this.#listeners.clear()
    return Promise.resolve()
  }
}
