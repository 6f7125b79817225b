import type { Clock } from '../clock.ts'
import { DomainError } from '../errors.ts'
import type { PubSub } from '../pub-sub.ts'
import type { RateGrant, RateLimiter, RatePlan } from './rate-plan.ts'
import { type Refusal, type RefusalLog, refusalsChannel } from './refusal-log.ts'
import type { WindowCharge, WindowDecision, WindowState, WindowStore } from './window-store.ts'

const WINDOWS = ['requests', 'tokens', 'credits'] as const
type WindowName = (typeof WINDOWS)[number]

const GROUPED = new Intl.NumberFormat('en-US')

const RATE_LIMIT_TYPES: Record<WindowName, Refusal['rateLimitType']> = {
  requests: 'RPM',
  tokens: 'TPM',
  credits: 'RPD',
}

export interface RateLimitDeps {
  store: WindowStore
  clock: Clock
  refusals: RefusalLog
  pubSub: PubSub
}

/**
 * Rate windows of requests, tokens and RPC credits (specification, part Limits). A request consumes all windows of its
 * plan or none; weights are whole numbers. Fails with `rate_limited` only.
 */
export class RateLimitService implements RateLimiter {
  readonly #deps: RateLimitDeps

  constructor(deps: RateLimitDeps) {
    this.#deps = deps
  }

  async admit(plan: RatePlan): Promise<RateGrant> {
    const { store, clock } = this.#deps
    const names = windowsOf(plan)
    const decision = await store.consume(chargesOf(plan), clock.nowMs())
    if (!decision.admitted) throw this.#refuse(plan, names, decision)
    return { plan, consumedAtMs: decision.consumedAtMs, ...statesByName(names, decision.states) }
  }

  giveBack(grant: RateGrant): void {
    this.#adjust(
      chargesOf(grant.plan).map((charge) => ({ charge, delta: -charge.weight })),
      grant.consumedAtMs,
    )
  }

  correct(grant: RateGrant, used: { tokens?: number; credits?: number }): void {
    const { tokens, credits } = grant.plan
    const corrections = [...correction(tokens, used.tokens), ...correction(credits, used.credits)]
    if (corrections.length > 0) this.#adjust(corrections, grant.consumedAtMs)
  }

  /** The plan's windows as they stand, without consuming: for the headers of answers that are not limited. */
  async peek(plan: RatePlan): Promise<Pick<RateGrant, WindowName>> {
    const states = await this.#deps.store.peek(chargesOf(plan), this.#deps.clock.nowMs())
    return statesByName(windowsOf(plan), states)
  }

  #adjust(corrections: { charge: WindowCharge; delta: number }[], consumedAtMs: number): void {
    // A lost correction heals when its bucket leaves the window; the request that caused it is over.
    this.#deps.store.adjust(corrections, consumedAtMs).catch(() => undefined)
  }

  #refuse(plan: RatePlan, names: WindowName[], decision: WindowDecision): DomainError {
    const { clock, refusals, pubSub } = this.#deps
    const index = decision.refusedBy ?? 0
    const name = names[index] ?? 'requests'
    const refusal: Refusal = {
      accountId: plan.accountId,
      apiKeyId: plan.apiKeyId,
      subject: plan.subject,
      rateLimitTier: plan.tierName,
      rateLimitType: RATE_LIMIT_TYPES[name],
      at: clock.now(),
    }
    refusals.record(refusal)
    pubSub.publish(refusalsChannel(plan.accountId), JSON.stringify(refusal))
    return refusalError(plan, name, {
      retryAtMs: decision.retryAtMs,
      state: decision.states[index],
      nowMs: clock.nowMs(),
    })
  }
}

function refusalError(
  plan: RatePlan,
  name: WindowName,
  found: { retryAtMs: number | null; state: WindowState | undefined; nowMs: number },
): DomainError {
  const charge = plan[name] ?? plan.requests
  const rule = ruleOf(plan, name, charge)
  const { state } = found
  const limit = {
    rule,
    limit: charge.limit,
    remaining: state?.remaining ?? 0,
    resetAtMs: state?.resetAtMs ?? found.nowMs,
  }
  if (found.retryAtMs === null) {
    const message = `${rule} This request alone needs ${inWords(charge.weight)} ${name}: send a smaller one.`
    return new DomainError('rate_limited', message, { limit })
  }
  const retryAfterSeconds = Math.max(1, Math.ceil((found.retryAtMs - found.nowMs) / 1000))
  const wait = retryAfterSeconds === 1 ? '1 second' : `${inWords(retryAfterSeconds)} seconds`
  return new DomainError('rate_limited', `${rule} Try again in ${wait}.`, { limit, retryAfterSeconds })
}

function ruleOf(plan: RatePlan, name: WindowName, charge: WindowCharge): string {
  const units = name === 'credits' ? 'RPC credits' : name
  const span = charge.windowSeconds === 60 ? 'minute' : `${charge.windowSeconds / 3600} hours`
  const subject = plan.subject.replace(/^endpoint:/, '/')
  return `Rate limit exceeded: ${inWords(charge.limit)} ${units} per ${span} for ${subject}.`
}

function inWords(amount: number): string {
  return GROUPED.format(amount)
}

function windowsOf(plan: RatePlan): WindowName[] {
  return WINDOWS.filter((name) => plan[name] !== null)
}

function chargesOf(plan: RatePlan): WindowCharge[] {
  const charges = [plan.requests]
  if (plan.tokens) charges.push(plan.tokens)
  if (plan.credits) charges.push(plan.credits)
  return charges
}

function statesByName(names: WindowName[], states: WindowState[]): Pick<RateGrant, WindowName> {
  const stateOf = (name: WindowName): WindowState | null => states[names.indexOf(name)] ?? null
  const requests = stateOf('requests')
  if (!requests) throw new Error('the window store gave no state of the request window')
  return { requests, tokens: stateOf('tokens'), credits: stateOf('credits') }
}

function correction(charge: WindowCharge | null, used: number | undefined): { charge: WindowCharge; delta: number }[] {
  if (!charge || used === undefined || used === charge.weight) return []
  return [{ charge, delta: Math.ceil(used) - charge.weight }]
}
