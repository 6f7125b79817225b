import { z } from 'zod'
import type { Log } from '../log.ts'
import type { PubSub } from '../pub-sub.ts'
import { RATE_LIMIT_TYPES_LOGGED, type Refusal } from './refusal.ts'

const CHANNEL = 'rate-limit-refusals'
/** Rejections within one interval share a message, so a watcher sees one within two intervals. */
const COALESCE_MS = 50
/** Further rejections within an interval appear only in the log. */
const GROUPS_MAX = 1_000
/** A reader with a longer backlog gets only the newest. */
const WAITING_MAX = 100

/** Rejections of one key and subject for one reason in quick succession, as one event: the newest, and the count. */
export interface RefusalEvent extends Refusal {
  count: number
}

const Message = z.string().transform((text, context): RefusalEvent[] => {
  try {
    return Events.parse(JSON.parse(text))
  } catch {
    context.addIssue('no refusals')
    return z.NEVER
  }
})
const Events = z.array(
  z.object({
    id: z.string(),
    accountId: z.string(),
    apiKeyId: z.string().nullable(),
    subject: z.string(),
    rateLimitTier: z.string(),
    rateLimitType: z.enum(RATE_LIMIT_TYPES_LOGGED),
    at: z.string().transform((text) => new Date(text)),
    count: z.number(),
  }),
)

type Watcher = (event: RefusalEvent) => void

/**
 * Sends an account's rejections to its watchers, across processes; a flood of equal ones costs one message per interval.
 */
export class RefusalFeed {
  readonly #pubSub: PubSub
  readonly #log: Log
  readonly #groups = new Map<string, RefusalEvent>()
  readonly #watchers = new Map<string, Set<Watcher>>()
  #timer: NodeJS.Timeout | undefined
  #unsubscribe: (() => Promise<void>) | undefined

  constructor(deps: { pubSub: PubSub; log: Log }) {
    this.#pubSub = deps.pubSub
    this.#log = deps.log
  }

  async start(): Promise<void> {
    this.#unsubscribe = await this.#pubSub.subscribe(CHANNEL, (message) => {
      if (this.#watchers.size === 0) return
      const { data, success } = Message.safeParse(message)
      if (!success) return this.#log.warn('a message about rejected requests could not be read')
      for (const event of data) for (const watcher of this.#watchers.get(event.accountId) ?? []) watcher(event)
    })
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#unsubscribe?.()
  }

  add(refusal: Refusal): void {
    const group = `${refusal.apiKeyId ?? refusal.accountId} ${refusal.rateLimitType} ${refusal.subject}`
    const before = this.#groups.get(group)
    if (before === undefined && this.#groups.size >= GROUPS_MAX) return
    this.#groups.set(group, { ...refusal, count: (before?.count ?? 0) + 1 })
    this.#timer ??= setTimeout(() => this.#publish(), COALESCE_MS).unref()
  }

  /** Yields new rejections of the account. Ends when `signal` aborts. */
  async *watch(accountId: string, signal: AbortSignal): AsyncGenerator<RefusalEvent, void> {
    let waiting: RefusalEvent[] = []
    let wake: () => void = () => {}
    const watcher: Watcher = (event) => {
      waiting.push(event)
      if (waiting.length > WAITING_MAX) waiting.shift()
      wake()
    }
    const stop = (): void => wake()
    signal.addEventListener('abort', stop)
    const watchers = this.#watchers.get(accountId) ?? new Set()
    this.#watchers.set(accountId, watchers.add(watcher))
    try {
      while (!signal.aborted) {
        if (waiting.length === 0) await new Promise<void>((resolve) => (wake = resolve))
        const events = waiting
        waiting = []
        for (const event of events) if (!signal.aborted) yield event
      }
    } finally {
      signal.removeEventListener('abort', stop)
      watchers.delete(watcher)
      if (watchers.size === 0) this.#watchers.delete(accountId)
    }
  }

  #publish(): void {
    this.#timer = undefined
    this.#pubSub.publish(CHANNEL, JSON.stringify([...this.#groups.values()]))
    this.#groups.clear()
  }
}
