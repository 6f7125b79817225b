import type { LimitPeriod } from '../api-keys/api-key.ts'
import { periodEndOf } from '../api-keys/key-spend.ts'
import { DomainError } from '../errors.ts'
import { formatUsd } from '../money.ts'
import type { Hold } from './hold.ts'
import { LaneRejection } from './lane-entry.ts'
import type { AdmitResult } from './money-item.ts'

/** How to make a request cheaper, whatever its kind. */
const SMALLER = 'lower max_tokens, fewer images, or fewer calls in a batch'

/** The limit of the key that rejected a request, with what is charged or held of it in the current period. */
export interface KeyLimit {
  limitNano: bigint
  spentNano: bigint
  period: LimitPeriod
  /** The database's clock. */
  instant: Date
}

const PERIOD_NAMES: Record<LimitPeriod, string> = {
  EPOCH: 'this UTC day',
  MONTH: 'this UTC month',
  LIFETIME: 'in its lifetime',
}

function describe({ limitNano, spentNano, period, instant }: KeyLimit, currency: string): string {
  const reset = periodEndOf(period, instant)?.toISOString()
  const resets = reset === undefined ? 'The limit never resets.' : `The limit resets at ${reset}.`
  return `The key may spend ${formatUsd(limitNano)} ${currency} ${PERIOD_NAMES[period]}, and ${formatUsd(spentNano)} is spent or held. ${resets}`
}

function factsOf({ limitNano, spentNano, period, instant }: KeyLimit): Record<string, string> {
  const reset = periodEndOf(period, instant)
  return {
    limit: formatUsd(limitNano),
    spent: formatUsd(spentNano),
    period,
    ...(reset === null ? {} : { resetsAt: reset.toISOString() }),
  }
}

/** Why the database refused a hold, in a sentence that names the cap and the way out. */
export function admissionError(
  result: Pick<AdmitResult, 'outcome' | 'usdNano' | 'diemNano'>,
  holdNanoUsd: bigint,
  keyLimit?: KeyLimit,
): DomainError {
  const need = formatUsd(holdNanoUsd)
  const facts = { requiredUsd: need, balanceUsd: formatUsd(result.usdNano), balanceDiem: formatUsd(result.diemNano) }
  switch (result.outcome) {
    case 'key_limit_usd':
    case 'key_limit_diem': {
      const currency = result.outcome === 'key_limit_usd' ? 'USD' : 'DIEM'
      const spent = keyLimit === undefined ? '' : ` ${describe(keyLimit, currency)}`
      return new DomainError(
        result.outcome,
        `API key ${currency} spend limit exceeded: this request may cost up to ${need} ${currency}, more than the remainder of the key's limit.${spent} Raise the key's consumptionLimit, wait for its period to reset, or send a smaller request: ${SMALLER}.`,
        { facts: { ...facts, ...(keyLimit === undefined ? {} : factsOf(keyLimit)) } },
      )
    }
    case 'key_inactive':
      return new DomainError('unauthenticated', 'Authentication failed: the API key was revoked or has expired')
    case 'insufficient_balance':
    case 'admitted':
    case 'settled_before':
      return new DomainError(
        'insufficient_balance',
        `Insufficient USD or Diem balance: this request may cost up to ${need} USD, more than the free balance. Add credit, or send a smaller request: ${SMALLER}.`,
        { facts },
      )
  }
}

/** A wallet whose account ran low. */
export function belowMinimum({ usdNano, diemNano }: Hold['balancesBefore'], minimumNanoUsd: bigint): DomainError {
  const facts = { balanceUsd: formatUsd(usdNano), balanceDiem: formatUsd(diemNano) }
  return new DomainError(
    'insufficient_balance',
    `The wallet has ${facts.balanceUsd} USD, less than the minimum balance of ${formatUsd(minimumNanoUsd)} USD. Top it up with USDC.`,
    { facts },
  )
}

/** A request that the database did not decide. */
export function notAdmitted(cause: unknown): DomainError {
  if (cause instanceof LaneRejection && cause.reason === 'client_left') {
    return new DomainError('unavailable', 'The client closed the request before its response began', { cause })
  }
  const message = 'The service is temporarily unavailable; try again shortly'
  return new DomainError('unavailable', message, { retryAfterSeconds: 1, cause })
}

/** The hold was released before the request ended. */
export function holdLost(): DomainError {
  const message = 'The request lost its hold before it ended and was not charged; send it again'
  return new DomainError('hold_lost', message, { retryAfterSeconds: 1 })
}
