import type { Caller } from '../server/domain/caller.ts'
import type { DomainError } from '../server/domain/errors.ts'
import type { Balance } from '../server/domain/ledger/ledger.ts'
import type { MeteredRequest } from '../server/domain/metering/metered-request.ts'
import { type Currency, formatUsd, formatUsdFixed } from '../server/domain/money.ts'
import type { RateGrant } from '../server/domain/rate-limits/rate-plan.ts'
import type { Exchange } from './exchange.ts'
import { MANAGEMENT_LIMITS, type Route, type RouteLimits } from './route.ts'

/**
 * Sets the limit and balance headers of all responses. Before the handler: counts the request in the windows that its
 * route declares, unless the route's service does so, and shows them with the balances.
 */
export async function admitToRoute(exchange: Exchange, { limits }: Route): Promise<void> {
  const { caller } = exchange
  if (caller === null || limits === null || limits.counted === 'by_service') return
  if (limits.counted === 'never') return showUncounted(exchange, caller, limits.plan)
  const {
    limits: { rateLimits },
    money: { ledger },
  } = exchange.services
  setRateLimitHeaders(exchange, await rateLimits.admit(limits.plan(exchange, caller)))
  setBalanceHeaders(exchange, await ledger.balances(caller.accountId))
}

/** For a request that a service admitted: its windows, and the balances before it. */
export function showMetered(exchange: Exchange, metered: MeteredRequest): void {
  setRateLimitHeaders(exchange, metered.grant)
  const { usdNano, diemNano } = metered.hold.balancesBefore
  setBalances(exchange, { usdNano, diemNano })
  const { receipt } = metered
  // A stream's headers are sent before its charge is known.
  setBalanceRemaining(exchange, receipt?.currency === 'usd' ? receipt.balanceAfterNano : usdNano)
}

/** For a response that was stored for repeats: the windows of this repeat, and the current balances. */
export async function showReplayed(exchange: Exchange, grant: RateGrant): Promise<void> {
  setRateLimitHeaders(exchange, grant)
  setBalanceHeaders(exchange, await exchange.services.money.ledger.balances(exchange.requireCaller().accountId))
}

/** For a rejected request: the window that rejected it, otherwise the windows of its route, and when to retry. */
export async function showRejected(exchange: Exchange, { limits }: Route, error: DomainError): Promise<void> {
  const { caller } = exchange
  setRetryHeaders(exchange, limits, error)
  if (caller === null) return
  const rejectedBy = error.limit?.windows
  if (rejectedBy !== undefined) {
    setRateLimitHeaders(exchange, { plan: rejectedBy, ...rejectedBy })
    await showUncounted(exchange, caller)
  } else if (!exchange.hasHeader('x-ratelimit-type')) {
    await showUncounted(exchange, caller, limits?.plan ?? MANAGEMENT_LIMITS.plan)
  }
}

/** Shows windows without counting, and the balances. A store that fails here must not hide the response. */
async function showUncounted(exchange: Exchange, caller: Caller, planOf?: RouteLimits['plan']): Promise<void> {
  const {
    limits: { rateLimits, ratePlans },
    money: { ledger },
    log,
  } = exchange.services
  try {
    if (planOf !== undefined) {
      const plan = planOf(exchange, caller) ?? ratePlans.planForManagement(caller)
      setRateLimitHeaders(exchange, { plan, ...(await rateLimits.peek(plan)) })
    }
    setBalanceHeaders(exchange, await ledger.balances(caller.accountId))
  } catch (failure) {
    log.warn('a response lacks its limit and balance headers', { requestId: exchange.requestId, error: failure })
  }
}

function setRetryHeaders(exchange: Exchange, limits: RouteLimits | null, error: DomainError): void {
  const { limit, retryAfterSeconds } = error
  if (limits?.noRetryAfter === undefined) {
    if (retryAfterSeconds !== undefined) exchange.setHeader('Retry-After', retryAfterSeconds)
  } else if (limit !== undefined) {
    exchange.setHeader('X-RateLimit-Limit', limit.limit)
    exchange.setHeader('X-RateLimit-Remaining', limit.remaining)
    exchange.setHeader('X-RateLimit-Reset', Math.ceil(limit.resetAtMs / 1_000))
  }
}

/** The wallet's remaining USD with six decimals, rounded down. Not set for keys. */
function setBalanceRemaining(exchange: Exchange, usdNano: bigint): void {
  if (exchange.caller?.kind !== 'wallet') return
  exchange.setHeader('X-Balance-Remaining', formatUsdFixed(usdNano - (usdNano % 1_000n), 6))
}

/** The seven headers of the public API; those about tokens only if tokens are limited. */
function setRateLimitHeaders(
  exchange: Exchange,
  grant: Pick<RateGrant, 'requests' | 'tokens'> & { plan: Pick<RateGrant['plan'], 'scope'> },
): void {
  const { requests, tokens, plan } = grant
  exchange.setHeader('x-ratelimit-limit-requests', requests.limit)
  exchange.setHeader('x-ratelimit-remaining-requests', requests.remaining)
  exchange.setHeader('x-ratelimit-reset-requests', Math.ceil(requests.resetAtMs / 1_000))
  exchange.setHeader('x-ratelimit-type', plan.scope)
  if (tokens === null) return
  const waitMs = Math.max(0, tokens.resetAtMs - tokens.nowMs)
  exchange.setHeader('x-ratelimit-limit-tokens', tokens.limit)
  exchange.setHeader('x-ratelimit-remaining-tokens', tokens.remaining)
  exchange.setHeader('x-ratelimit-reset-tokens', Math.ceil(waitMs / 1_000))
}

/** The current balances. A currency that the account has never used is zero. */
function setBalanceHeaders(exchange: Exchange, balances: readonly Balance[]): void {
  const nanoOf = (name: Currency): bigint => balances.find(({ currency }) => currency === name)?.balanceNanoUsd ?? 0n
  const usdNano = nanoOf('usd')
  setBalances(exchange, { usdNano, diemNano: nanoOf('diem') })
  setBalanceRemaining(exchange, usdNano)
}

function setBalances(exchange: Exchange, { usdNano, diemNano }: { usdNano: bigint; diemNano: bigint }): void {
  const { serviceName } = exchange.services.identity
  exchange.setHeader(`x-${serviceName}-balance-usd`, formatUsd(usdNano))
  exchange.setHeader(`x-${serviceName}-balance-diem`, formatUsd(diemNano))
}
