import type { PubSub } from '../pub-sub.ts'
import { ThrottledTask } from '../throttled-task.ts'

const CHANNEL = 'balances'
/** Changes within one interval share a message. */
const PACE = { intervalMs: 50 }

/** Sent instead of ids if messages were lost, so the changed accounts are unknown. */
const ANY = '*'

/** Null means that any account may have changed. */
type Listener = (accountIds: readonly string[] | null) => void

/**
 * Announces across processes which accounts' money moved. One message per interval carries only ids, however many
 * requests settle.
 */
export class AccountChanges {
  readonly #pubSub: PubSub
  readonly #listeners: Listener[] = []
  readonly #changed = new Set<string>()
  readonly #publishing = new ThrottledTask(() => this.#publish(), PACE)
  #unsubscribe: (() => Promise<void>) | undefined

  constructor(deps: { pubSub: PubSub }) {
    this.#pubSub = deps.pubSub
  }

  async start(): Promise<void> {
    this.#pubSub.onResumed(() => this.#pubSub.publish(CHANNEL, ANY))
    this.#unsubscribe = await this.#pubSub.subscribe(CHANNEL, (message) => {
      const accountIds = message === ANY ? null : message.split(',')
      for (const listener of this.#listeners) listener(accountIds)
    })
  }

  /** Call after a commit that changed the account's balance or held amount. */
  changed(accountId: string): void {
    this.#changed.add(accountId)
    this.#publishing.request()
  }

  /** The listener stays for the life of the process. */
  listen(listener: Listener): void {
    this.#listeners.push(listener)
  }

  async stop(): Promise<void> {
    this.#publishing.stop()
    await this.#unsubscribe?.()
  }

  #publish(): boolean {
    this.#pubSub.publish(CHANNEL, [...this.#changed].join(','))
    this.#changed.clear()
    return true
  }
}
