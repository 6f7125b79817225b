import { ThrottledTask } from '../throttled-task.ts'
import type { PubSub } from '../pub-sub.ts'

const CHANNEL = 'balances'
/** Changes within one interval travel together. */
const PACE = { intervalMs: 50 }

/** In place of ids: messages were lost, and with them which accounts moved. */
const ANY = '*'

/** Null stands for all accounts: each of them may have changed. */
type Listener = (accountIds: readonly string[] | null) => void

/** Says, across processes, which accounts' money moved. Only ids travel, in one message an interval, however many settle. */
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

  /** To be called after a commit that moved the account's balance or held amount. */
  changed(accountId: string): void {
    this.#changed.add(accountId)
    this.#publishing.request()
  }

  /** For as long as the process runs. */
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
