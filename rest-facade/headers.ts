import { type Currency, formatUsd, formatUsdFixed } from '../server/domain/money.ts'
import type { Balance } from '../server/domain/ledger/ledger.ts'
import type { MeteredRequest } from '../server/domain/metering/metered-request.ts'
import type { RateGrant } from '../server/domain/rate-limits/rate-plan.ts'
import type { Exchange } from './exchange.ts'

/** Headers of every response of a request that was admitted: its rate windows, and the balances before it. */
export function setMeteringHeaders(exchange: Exchange, metered: MeteredRequest): void {
  setRateLimitHeaders(exchange, metered.grant)
  const { usdNano, diemNano } = metered.hold.balancesBefore
  setBalances(exchange, { usdNano, diemNano })
  const { receipt } = metered
  // A stream's head leaves before its charge is known.
  setBalanceRemaining(exchange, receipt?.currency === 'usd' ? receipt.balanceAfterNano : usdNano)
}

/** What a wallet has left: USD with six decimals, rounded down. Nothing for keys. */
function setBalanceRemaining(exchange: Exchange, usdNano: bigint): void {
  if (exchange.caller?.kind !== 'wallet') return
  exchange.setHeader('X-Balance-Remaining', formatUsdFixed(usdNano - (usdNano % 1_000n), 6))
}

/** The specification's seven headers; those about tokens only where tokens are limited. */
export function setRateLimitHeaders(
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

/** The current balances, on responses that charge nothing. A currency that the account never had is zero. */
export function setBalanceHeaders(exchange: Exchange, balances: readonly Balance[]): void {
  const nanoOf = (name: Currency): bigint => balances.find(({ currency }) => currency === name)?.balanceNanoUsd ?? 0n
  const usdNano = nanoOf('usd')
  setBalances(exchange, { usdNano, diemNano: nanoOf('diem') })
  setBalanceRemaining(exchange, usdNano)
}

function setBalances(exchange: Exchange, { usdNano, diemNano }: { usdNano: bigint; diemNano: bigint }): void {
  const { serviceName } = exchange.services
  exchange.setHeader(`x-${serviceName}-balance-usd`, formatUsd(usdNano))
  exchange.setHeader(`x-${serviceName}-balance-diem`, formatUsd(diemNano))
}
