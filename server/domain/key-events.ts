import type { PubSub } from './pub-sub.ts'

const KINDS = ['key-revoked', 'key-changed', 'account-changed'] as const

/** `id` is the key's, or for `account-changed` the account's, which affects all its keys. */
export interface KeyEvent {
  kind: (typeof KINDS)[number]
  id: string
}

type Listener = (event: KeyEvent) => void

/**
 * Announces key and account changes to every process, on one channel per kind. This process is notified before `announce`
 * returns, the others when the message arrives; a process that misses one relies on the age limit of its cache.
 */
export class KeyEvents {
  readonly #pubSub: PubSub
  readonly #listeners = new Set<Listener>()
  #unsubscribe: (() => Promise<void>)[] = []

  constructor(deps: { pubSub: PubSub }) {
    this.#pubSub = deps.pubSub
  }

  async start(): Promise<void> {
    this.#unsubscribe = await Promise.all(
      KINDS.map((kind) => this.#pubSub.subscribe(kind, (id) => this.#deliver({ kind, id }))),
    )
  }

  /** Listeners get an event at least once; a process may receive its own event back from the shared channel. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  announce(event: KeyEvent): void {
    this.#deliver(event)
    this.#pubSub.publish(event.kind, event.id)
  }

  /** Delivers locally an event that this process detected itself; the other processes detect it as well. */
  repeat(event: KeyEvent): void {
    this.#deliver(event)
  }

  async close(): Promise<void> {
    await Promise.all(this.#unsubscribe.map((end) => end()))
    this.#listeners.clear()
  }

  #deliver(event: KeyEvent): void {
    for (const listener of this.#listeners) listener(event)
  }
}
