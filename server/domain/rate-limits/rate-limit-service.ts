import type { Clock } from '../clock.ts'
import { DomainError, type LimitFacts } from '../errors.ts'
import { itemAt } from '../item-at.ts'
import { type PlanWindow, statesOf, type WindowName, type WindowStates, windowsOf } from './plan-windows.ts'
import type { RateGrant, RateLimiter, RatePlan } from './rate-plan.ts'
import type { RateLimitType, RefusalRecorder } from './refusal.ts'
import type { WindowBooking, WindowCharge, WindowDecision, WindowState, WindowStore } from './window-store.ts'

const GROUPED = new Intl.NumberFormat('en-US')

export const RATE_LIMIT_TYPES: Record<WindowName, RateLimitType> = { requests: 'RPM', tokens: 'TPM', credits: 'RPD' }

export interface RateLimitDeps {
  store: WindowStore
  clock: Clock
  refusals: RefusalRecorder
}

export interface WindowFill extends PlanWindow {
  state: WindowState
}

/**
 * Rate limits on requests, tokens and RPC credits. A request consumes all windows of its plan or none; weights are whole
 * numbers. Fails only with `rate_limited`.
 */
export class RateLimitService implements RateLimiter {
  readonly #deps: RateLimitDeps

  constructor(deps: RateLimitDeps) {
    this.#deps = deps
  }

  async admit(plan: RatePlan): Promise<RateGrant> {
    const windows = windowsOf(plan)
    const decision = await this.#deps.store.consume(windows.map(chargeOf))
    if (!decision.admitted) throw this.#refuse(plan, windows, decision)
    return { plan, booking: decision.booking, ...statesOf(windows, decision.states) }
  }

  refund(grant: RateGrant): void {
    this.#adjust(
      windowsOf(grant.plan).map(({ charge }) => ({ charge, delta: -charge.weight })),
      grant.booking,
    )
  }

  correct(grant: RateGrant, used: { tokens?: number; credits?: number }): void {
    const corrections = windowsOf(grant.plan).flatMap(({ name, charge }) =>
      name === 'requests' ? [] : correction(charge, used[name]),
    )
    if (corrections.length > 0) this.#adjust(corrections, grant.booking)
  }

  /** The error for a plan that the database rejects, whose only window counts requests. */
  refuse(plan: RatePlan, waitSeconds: number): DomainError {
    const windows = windowsOf(plan)
    const nowMs = this.#deps.clock.nowMs()
    const retryAtMs = nowMs + Math.ceil(waitSeconds * 1_000)
    const states = windows.map(({ charge }) => ({ limit: charge.limit, remaining: 0, resetAtMs: retryAtMs, nowMs }))
    const booking = { sharedAtMs: null, localAtMs: null }
    return this.#refuse(plan, windows, { admitted: false, refusedBy: 0, retryAtMs, booking, states })
  }

  /** The plan's current windows, without consuming: for the headers of responses that are not limited. */
  async peek(plan: RatePlan): Promise<WindowStates> {
    const windows = windowsOf(plan)
    return statesOf(windows, await this.#deps.store.peek(windows.map(chargeOf)))
  }

  /** How full every window of the plans is, in one store call. */
  async fillOf(plans: readonly RatePlan[]): Promise<WindowFill[][]> {
    const windows = plans.map(windowsOf)
    const states = await this.#deps.store.peek(windows.flat().map(chargeOf))
    let next = 0
    return windows.map((ofPlan) => ofPlan.map((window) => ({ ...window, state: itemAt(states, next++) })))
  }

  #adjust(corrections: { charge: WindowCharge; delta: number }[], booking: WindowBooking): void {
    // A lost correction no longer matters once its bucket leaves the window; its request is over.
    this.#deps.store.adjust(corrections, booking).catch(() => undefined)
  }

  #refuse(plan: RatePlan, windows: readonly PlanWindow[], decision: WindowDecision): DomainError {
    const { refusals } = this.#deps
    const refused = itemAt(windows, decision.refusedBy ?? 0)
    const state = itemAt(decision.states, decision.refusedBy ?? 0)
    refusals.record({
      accountId: plan.accountId,
      apiKeyId: plan.apiKeyId,
      subject: plan.subject,
      rateLimitTier: plan.tierName,
      rateLimitType: RATE_LIMIT_TYPES[refused.name],
    })
    const { requests, tokens } = statesOf(windows, decision.states)
    // Clients wait for the reset of the requests window, whichever window rejected.
    const reset = { ...requests, resetAtMs: decision.retryAtMs ?? requests.resetAtMs }
    return refusalError(plan, refused, {
      retryAtMs: decision.retryAtMs,
      state,
      windows: { scope: plan.scope, requests: reset, tokens },
    })
  }
}

function refusalError(
  plan: RatePlan,
  { name, charge, perKey }: PlanWindow,
  found: { retryAtMs: number | null; state: WindowState; windows: NonNullable<LimitFacts['windows']> },
): DomainError {
  const units = name === 'credits' ? 'RPC credits' : name
  const span = charge.windowSeconds === 60 ? 'minute' : `${charge.windowSeconds / 3600} hours`
  const subject = plan.subject.replace(/^endpoint:/, '/')
  const whose = perKey ? ' with this API key' : ''
  const rule = `Rate limit exceeded: ${inWords(charge.limit)} ${units} per ${span} for ${subject}${whose}.`
  const { remaining, resetAtMs } = found.state
  const limit: LimitFacts = { rule, limit: charge.limit, remaining, resetAtMs, windows: found.windows }
  if (found.retryAtMs === null) {
    const message = `${rule} This request alone needs ${inWords(charge.weight)} ${name}: send a smaller one.`
    return new DomainError('rate_limited', message, { limit })
  }
  const retryAfterSeconds = Math.max(1, Math.ceil((found.retryAtMs - found.state.nowMs) / 1000))
  const wait = retryAfterSeconds === 1 ? '1 second' : `${inWords(retryAfterSeconds)} seconds`
  return new DomainError('rate_limited', `${rule} Try again in ${wait}.`, { limit, retryAfterSeconds })
}

function inWords(amount: number): string {
  return GROUPED.format(amount)
}

function chargeOf({ charge }: PlanWindow): WindowCharge {
  return charge
}

function correction(charge: WindowCharge, used: number | undefined): { charge: WindowCharge; delta: number }[] {
  if (used === undefined || used === charge.weight) return []
  return [{ charge, delta: Math.ceil(used) - charge.weight }]
}
