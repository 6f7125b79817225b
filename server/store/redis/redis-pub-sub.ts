import { randomBytes } from 'node:crypto'
import type { Log } from '../../domain/log.ts'
import type { PubSub } from '../../domain/pub-sub.ts'
import { ChannelListeners } from '../channel-listeners.ts'
import { withDeadline } from '../deadline.ts'
import type { RedisClient } from './redis-client.ts'

const SUBSCRIBE_DEADLINE_MS = 500

export interface RedisPubSubDeps {
  publisher: RedisClient
  /** A separate connection, because on some server versions a subscriber can do nothing else. */
  subscriber: RedisClient
  log: Log
  /** Separates instances that share one server. */
  keyPrefix?: string
}

/**
 * Delivery to all processes. Listeners of the publishing process are called directly, without the server, so a process
 * keeps its own updates while Redis is away; messages published meanwhile do not reach the others.
 */
export class RedisPubSub implements PubSub {
  readonly #deps: RedisPubSubDeps
  readonly #listeners: ChannelListeners
  readonly #prefix: string
  readonly #resumedListeners: (() => void)[] = []
  /** Marks own messages, whose echo was already delivered. */
  readonly #origin = randomBytes(9).toString('base64url')

  constructor(deps: RedisPubSubDeps) {
    this.#deps = deps
    this.#listeners = new ChannelListeners(deps.log)
    this.#prefix = `${deps.keyPrefix ?? 'sluice'}:`
    deps.subscriber.on('ready', this.#resubscribe)
    deps.publisher.on('ready', this.#resumed)
  }

  publish(channel: string, message: string): void {
    if (this.#listeners.has(channel)) queueMicrotask(() => this.#listeners.deliver(channel, message))
    // The contract allows lost messages; the connection reports its own failures.
    this.#deps.publisher.publish(this.#prefix + channel, this.#origin + message).catch(() => undefined)
  }

  async subscribe(channel: string, listener: (message: string) => void): Promise<() => Promise<void>> {
    const remove = this.#listeners.add(channel, listener)
    // Without a connection the channel works in this process at once, and in the others after the reconnect.
    if (this.#deps.subscriber.isReady) await this.#attempt(this.#listen([channel]))
    return async () => {
      remove()
      if (this.#listeners.has(channel)) return
      await this.#attempt(this.#deps.subscriber.unsubscribe(this.#prefix + channel, this.#receive))
    }
  }

  onResumed(listener: () => void): void {
    this.#resumedListeners.push(listener)
  }

  close(): Promise<void> {
    this.#deps.subscriber.off('ready', this.#resubscribe)
    this.#deps.publisher.off('ready', this.#resumed)
    this.#listeners.clear()
    return Promise.resolve()
  }

  readonly #receive = (message: string, channel: string): void => {
    if (message.startsWith(this.#origin)) return
    this.#listeners.deliver(channel.slice(this.#prefix.length), message.slice(this.#origin.length))
  }

  /**
   * The client repeats only subscriptions that once succeeded; those requested in the meantime must be repeated here.
   */
  readonly #resubscribe = (): void => {
    const channels = this.#listeners.channels()
    if (channels.length > 0) this.#listen(channels).then(this.#resumed, () => undefined)
  }

  readonly #resumed = (): void => {
    for (const listener of this.#resumedListeners) listener()
  }

  #listen(channels: string[]): Promise<void> {
    return this.#deps.subscriber.subscribe(
      channels.map((channel) => this.#prefix + channel),
      this.#receive,
    )
  }

  /** A lost connection fails these and the reconnect repeats them, so the caller need not know. */
  async #attempt(work: Promise<void>): Promise<void> {
    await withDeadline(work, SUBSCRIBE_DEADLINE_MS).catch(() => undefined)
  }
}
