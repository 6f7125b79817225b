import { DomainError } from '../errors.ts'
import type { Payment } from './payment.ts'
import { paymentError } from './payment-errors.ts'

/** Reasons on our side: nothing was sent, and the same payment succeeds later. */
export const FEE_BUDGET_SPENT = 'fee_budget_spent'
export const NETWORK_FEES_TOO_HIGH = 'network_fees_too_high'
export const NOT_VERIFIED = 'not_verified'

const LATER: ReadonlyMap<string, { message: string; retryAfterSeconds: number }> = new Map([
  [
    FEE_BUDGET_SPENT,
    {
      message:
        "This service's budget for settlement fees is spent for today. Nothing was settled; send the same payment again after 00:00 UTC",
      retryAfterSeconds: 3_600,
    },
  ],
  [
    NETWORK_FEES_TOO_HIGH,
    {
      message:
        "The network's fees are above this service's maximum. Nothing was settled; send the same payment again later",
      retryAfterSeconds: 300,
    },
  ],
])

/** Messages for the reasons that a payer can fix; the reason itself is in the response's details. */
const SENTENCES: readonly [pattern: RegExp, sentence: string][] = [
  [
    /insufficient_(balance|funds)/,
    'The wallet has less USDC than it signed for; fund it and send the same payment again',
  ],
  [/^not_verified$/, 'The node could not check the signature; send the same payment again later'],
  [/valid_before|expired/, 'The payment has expired; sign a new one'],
  [/valid_after/, 'The payment is not valid yet; send it again later'],
  [
    /nonce_already_used|cancel/,
    'The authorization was used or cancelled on chain without paying this service; sign a new one',
  ],
  [/signature/, 'The signature does not match the payment and its payer; sign the fields exactly as you send them'],
  [/factory_not_allowed|undeployed/, 'The wallet is a contract that is not deployed yet; deploy it first'],
]

/** The error for a rejected or failed payment; undefined otherwise. */
export function refusalOf({ state, reason }: Payment): DomainError | undefined {
  return state === 'refused' || state === 'failed' || state === 'dead'
    ? refusalFor(state, reason ?? 'unknown')
    : undefined
}

export function refusalFor(state: 'refused' | 'failed' | 'dead', reason: string): DomainError {
  const later = LATER.get(reason)
  if (later !== undefined) {
    return new DomainError('unavailable', later.message, { retryAfterSeconds: later.retryAfterSeconds })
  }
  const sentence = SENTENCES.find(([pattern]) => pattern.test(reason))?.[1]
  if (state === 'refused') {
    return paymentError('payment_refused', `Nothing was charged. ${sentence ?? 'The chain would reject it'}`, reason)
  }
  return paymentError('payment_failed', `The payment did not settle. ${sentence ?? 'Sign a new one'}`, reason)
}
