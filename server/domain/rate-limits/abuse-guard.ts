import { z } from 'zod'
import type { Clock } from '../clock.ts'
import { DomainError } from '../errors.ts'
import type { PubSub } from '../pub-sub.ts'
import type { LimitTable } from './limit-table.ts'

const CHANNEL = 'abuse-blocks'
/** Whoever fails under ever new names pushes out the oldest of them, not the memory of the process. */
const SUBJECTS_MAX = 10_000

const BlockMessage = z.string().transform((text, context) => {
  try {
    return z.object({ subject: z.string() }).parse(JSON.parse(text))
  } catch {
    context.addIssue('not a block')
    return z.NEVER
  }
})

export interface AbuseGuardDeps {
  limits: LimitTable['abuse']
  clock: Clock
  pubSub: PubSub
}

/**
 * Blocks whoever fails too often (specification, Abuse protection: more than 20 failures in 30 seconds, for 30
 * seconds). Subjects are `key:<id>`, `wallet:<address>` and, for wrong credentials alone, `ip:<address>`: nobody blocks
 * a victim by failing in its name. Failures are counted per process, blocks are shared by all.
 */
export class AbuseGuard {
  readonly #deps: AbuseGuardDeps
  readonly #failures = new Map<string, number[]>()
  readonly #blockedUntilMs = new Map<string, number>()
  #unsubscribe: (() => Promise<void>) | undefined

  constructor(deps: AbuseGuardDeps) {
    this.#deps = deps
  }

  /** Hears of the blocks of other processes until `close`. */
  async start(): Promise<void> {
    this.#unsubscribe = await this.#deps.pubSub.subscribe(CHANNEL, (message) => {
      const block = BlockMessage.safeParse(message)
      if (block.success) this.#block(block.data.subject)
    })
  }

  async close(): Promise<void> {
    await this.#unsubscribe?.()
  }

  /** Fails with `abuse_blocked` while the subject is blocked. Costs nothing while nobody is. */
  assertNotBlocked(subject: string): void {
    if (this.#blockedUntilMs.size === 0) return
    const remainingMs = this.#blockedForMs(normalized(subject))
    if (remainingMs === 0) return
    const { failures, windowSeconds, blockSeconds } = this.#deps.limits
    throw new DomainError(
      'abuse_blocked',
      `Too many failed requests: wait ${blockSeconds} seconds before you try again (more than ${failures} requests failed within ${windowSeconds} seconds).`,
      { retryAfterSeconds: Math.max(1, Math.ceil(remainingMs / 1000)) },
    )
  }

  /** Counts one response with a non-success status other than 402 and 429, or one wrong credential of an address. */
  recordFailure(subject: string): void {
    const name = normalized(subject)
    if (this.#blockedForMs(name) > 0) return
    const { limits, clock, pubSub } = this.#deps
    const nowMs = clock.nowMs()
    const recent = (this.#failures.get(name) ?? []).filter((atMs) => atMs > nowMs - limits.windowSeconds * 1000)
    recent.push(nowMs)
    if (recent.length <= limits.failures) {
      keepNewest(this.#failures, name, recent)
      return
    }
    this.#block(name)
    pubSub.publish(CHANNEL, JSON.stringify({ subject: name }))
  }

  /** The block runs by this process's own clock: clocks of processes differ. */
  #block(name: string): void {
    this.#failures.delete(name)
    keepNewest(this.#blockedUntilMs, name, this.#deps.clock.nowMs() + this.#deps.limits.blockSeconds * 1000)
  }

  #blockedForMs(name: string): number {
    const untilMs = this.#blockedUntilMs.get(name)
    if (untilMs === undefined) return 0
    const remainingMs = untilMs - this.#deps.clock.nowMs()
    // More than a whole block ahead means that the clock was set back.
    if (remainingMs > 0 && remainingMs <= this.#deps.limits.blockSeconds * 1000) return remainingMs
    this.#blockedUntilMs.delete(name)
    return 0
  }
}

/** A Map keeps the order of insertion, so its first entry is the one that was renewed longest ago. */
function keepNewest<Value>(entries: Map<string, Value>, name: string, value: Value): void {
  entries.delete(name)
  const oldest = entries.size >= SUBJECTS_MAX ? entries.keys().next() : undefined
  if (oldest && !oldest.done) entries.delete(oldest.value)
  entries.set(name, value)
}

/** One IPv6 host commands a whole /64, so its first four groups stand for it; a mapped IPv4 address is the IPv4 one. */
function normalized(subject: string): string {
  if (!subject.startsWith('ip:') || !subject.includes(':', 3)) return subject
  const address = subject.slice(3)
  if (address.includes('.')) return `ip:${address.slice(address.lastIndexOf(':') + 1)}`
  const [head = '', tail = ''] = address.split('::')
  const first = head === '' ? [] : head.split(':')
  const last = tail === '' ? [] : tail.split(':')
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => '0')
  return `ip:${[...first, ...zeros, ...last].slice(0, 4).join(':')}/64`
}
