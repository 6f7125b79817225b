import type { UsageLine } from '../metering/hold.ts'
import { formatUsdFixed } from '../money.ts'

export const RPC_TIERS = ['standard', 'advanced', 'large'] as const
export type RpcTier = (typeof RPC_TIERS)[number]

const TIER_MULTIPLIERS: Readonly<Record<RpcTier, number>> = { standard: 1, advanced: 2, large: 4 }

/** Price of an item whose response is an `error` object, whatever its tier. */
export const RPC_ERROR_CREDITS = 5

const ADVANCED_PREFIX = /^(?:trace|debug|txpool|arbtrace)_/

/** Tier of a method without an explicit price. */
export function defaultTier(method: string): RpcTier {
  return ADVANCED_PREFIX.test(method) ? 'advanced' : 'standard'
}

/** `baseCredits[chain]` × tier multiplier. */
export function creditsOf(baseCredits: number, tier: RpcTier): number {
  return baseCredits * TIER_MULTIPLIERS[tier]
}

/**
 * Decimal string with 8 decimals. Odd multiples of 5 credits end in exactly half a unit, which floating point rounds
 * incorrectly.
 */
export function costUsdOf(credits: number, pricePerCreditNanoUsd: bigint): string {
  return formatUsdFixed(BigInt(credits) * pricePerCreditNanoUsd, 8)
}

interface CreditPrices {
  pricePerCreditNanoUsd: bigint
  /** As shown on receipts. */
  unitPriceUsd: string
}

/** One usage line per method; `credits` is indexed by position of the call. */
export function linesByMethod(
  calls: readonly { method: { name: string } }[],
  credits: readonly number[],
  { pricePerCreditNanoUsd, unitPriceUsd }: CreditPrices,
): UsageLine[] {
  const units = new Map<string, number>()
  for (const [index, { method }] of calls.entries()) {
    units.set(method.name, (units.get(method.name) ?? 0) + (credits[index] ?? 0))
  }
  return [...units].map(([type, total]) => ({
    type,
    units: total,
    amountNanoUsd: BigInt(total) * pricePerCreditNanoUsd,
    unitPriceUsd,
  }))
}
