import { z } from 'zod'
import { ACCOUNT_TIERS, type Caller } from '../caller.ts'
import type { Clock } from '../clock.ts'
import { DomainError, type DomainErrorCode } from '../errors.ts'
import type { IdSource } from '../ids.ts'
import type { PubSub } from '../pub-sub.ts'
import type { LimitTable } from './limit-table.ts'
import { networkOf } from './network-of.ts'
import type { RefusalRecorder } from './refusal.ts'

const CHANNEL = 'failed-requests'
/** A client that fails under many names evicts the oldest entries instead of filling the memory. */
const SUBJECTS_MAX = 10_000
const ADDRESS_SUBJECT = /^((?:operator-)?ip):(.*:.*)$/

const WRONG_CREDENTIAL_CODES: ReadonlySet<DomainErrorCode> = new Set(['unauthenticated', 'sign_in_refused'])

/** The first failure is reported to other processes immediately, those within the interval together. */
const REPORT_INTERVAL_MS = 20

/** The account of a blocked subject, for the limit log; null for an address. */
type Source = Pick<Caller, 'accountId' | 'keyId' | 'tier'> | null

interface Block {
  untilMs: number
  source: Source
}

const SourceOfMessage = z
  .object({ accountId: z.string(), keyId: z.string().nullable(), tier: z.enum(ACCOUNT_TIERS) })
  .nullable()
const Message = z.object({
  origin: z.string(),
  failures: z.array(z.object({ subject: z.string(), count: z.int().positive(), source: SourceOfMessage })),
  /** The process's blocks, which the others apply even if they missed some failures. */
  blocks: z.array(z.object({ subject: z.string(), source: SourceOfMessage })),
})

export interface AbuseGuardDeps {
  limits: LimitTable['abuse']
  clock: Clock
  ids: Pick<IdSource, 'uuid'>
  pubSub: PubSub
  refusals: RefusalRecorder
}

/**
 * Blocks subjects that fail too often: `key:<id>`, `wallet:<address>` and, only for wrong credentials, `ip:<address>`, so
 * nobody can get another client blocked. Every process counts the failures of all processes, which it receives within
 * milliseconds.
 */
export class AbuseGuard {
  readonly #deps: AbuseGuardDeps
  readonly #failures = new Map<string, number[]>()
  readonly #blocks = new Map<string, Block>()
  readonly #origin: string
  readonly #unreported = new Map<string, { count: number; source: Source }>()
  #reportTimer: NodeJS.Timeout | undefined
  #unsubscribe: (() => Promise<void>) | undefined

  constructor(deps: AbuseGuardDeps) {
    this.#deps = deps
    this.#origin = deps.ids.uuid()
  }

  /** Receives the failures of other processes until `close`. */
  async start(): Promise<void> {
    this.#unsubscribe = await this.#deps.pubSub.subscribe(CHANNEL, (message) => this.#hear(message))
  }

  async close(): Promise<void> {
    clearTimeout(this.#reportTimer)
    await this.#unsubscribe?.()
  }

  /** Fails with `abuse_blocked`, and logs it, while the subject is blocked. Costs nothing while there are no blocks. */
  assertNotBlocked(subject: string): void {
    if (this.#blocks.size === 0) return
    const name = normalized(subject)
    const remainingMs = this.#blockedForMs(name)
    if (remainingMs === 0) return
    this.#recordRefusal(this.#blocks.get(name)?.source ?? null)
    const { failures, windowSeconds, blockSeconds } = this.#deps.limits
    throw new DomainError(
      'abuse_blocked',
      `Too many failed requests: wait ${blockSeconds} seconds before you try again (more than ${failures} requests failed within ${windowSeconds} seconds).`,
      { retryAfterSeconds: Math.max(1, Math.ceil(remainingMs / 1000)) },
    )
  }

  /**
   * Counts one response with a 4xx status other than 402 and 429, or one wrong credential of an address. `source` is the
   * caller that failed, whose limit log shows requests rejected by a block.
   */
  recordFailure(subject: string, source: Source = null): void {
    const name = normalized(subject)
    if (this.#blockedForMs(name) > 0) return
    if (this.#unreported.size < SUBJECTS_MAX) {
      this.#unreported.set(name, { count: (this.#unreported.get(name)?.count ?? 0) + 1, source })
    }
    if (this.#count({ subject: name, count: 1, source })) return this.#report([{ subject: name, source }])
    if (this.#reportTimer === undefined) this.#report()
  }

  /**
   * Counts a wrong-credential error as a failure of the sending address, and replaces it by `abuse_blocked` while the
   * address is blocked. Valid credentials from the address still work, so that guessing keys does not block their owners
   * behind the same address.
   */
  blameAddress(address: string, error: unknown): void {
    if (!(error instanceof DomainError && WRONG_CREDENTIAL_CODES.has(error.code))) return
    this.assertNotBlocked(`ip:${address}`)
    this.recordFailure(`ip:${address}`)
  }

  /** Blocks the subject if it has failed too often; returns whether it did. */
  #count({ subject, count, source }: z.output<typeof Message>['failures'][number]): boolean {
    const { limits, clock } = this.#deps
    const nowMs = clock.nowMs()
    const recent = (this.#failures.get(subject) ?? []).filter((atMs) => atMs > nowMs - limits.windowSeconds * 1000)
    for (let index = 0; index < count && recent.length <= limits.failures; index += 1) recent.push(nowMs)
    keepNewest(this.#failures, subject, recent)
    const tooMany = recent.length > limits.failures
    if (tooMany) this.#block(subject, source)
    return tooMany
  }

  #report(blocks: z.input<typeof Message>['blocks'] = []): void {
    clearTimeout(this.#reportTimer)
    this.#reportTimer = setTimeout(() => {
      this.#reportTimer = undefined
      if (this.#unreported.size > 0) this.#report()
    }, REPORT_INTERVAL_MS).unref()
    const failures = [...this.#unreported].map(([subject, failed]) => ({ subject, ...failed }))
    this.#unreported.clear()
    const message: z.input<typeof Message> = { origin: this.#origin, failures, blocks }
    this.#deps.pubSub.publish(CHANNEL, JSON.stringify(message))
  }

  #hear(text: string): void {
    const message = parseMessage(text)
    if (message === undefined || message.origin === this.#origin) return
    for (const { subject, source } of message.blocks)
      if (this.#blockedForMs(subject) === 0) this.#block(subject, source)
    for (const failure of message.failures) if (this.#blockedForMs(failure.subject) === 0) this.#count(failure)
  }

  #recordRefusal(source: Source): void {
    if (source === null) return
    this.#deps.refusals.record({
      accountId: source.accountId,
      apiKeyId: source.keyId,
      subject: 'model:unknown',
      rateLimitTier: source.tier,
      rateLimitType: 'FAILED_REQUESTS',
    })
  }

  /** Timed by this process's own clock, because clocks of processes differ. */
  #block(name: string, source: Source): void {
    const { clock, limits } = this.#deps
    this.#failures.delete(name)
    keepNewest(this.#blocks, name, { source, untilMs: clock.nowMs() + limits.blockSeconds * 1000 })
  }

  #blockedForMs(name: string): number {
    const block = this.#blocks.get(name)
    if (block === undefined) return 0
    const remainingMs = block.untilMs - this.#deps.clock.nowMs()
    // A larger remainder means that the clock was set back.
    if (remainingMs > 0 && remainingMs <= this.#deps.limits.blockSeconds * 1000) return remainingMs
    this.#blocks.delete(name)
    return 0
  }
}

function parseMessage(text: string): z.output<typeof Message> | undefined {
  try {
    return Message.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}

/** A Map keeps insertion order, so its first entry is the one renewed longest ago. */
function keepNewest<Value>(entries: Map<string, Value>, name: string, value: Value): void {
  entries.delete(name)
  const oldest = entries.size >= SUBJECTS_MAX ? entries.keys().next() : undefined
  if (oldest && !oldest.done) entries.delete(oldest.value)
  entries.set(name, value)
}

/** Replaces the address of an `ip:` subject by its network. */
function normalized(subject: string): string {
  const [, kind, address] = ADDRESS_SUBJECT.exec(subject) ?? []
  return kind === undefined || address === undefined ? subject : `${kind}:${networkOf(address)}`
}
