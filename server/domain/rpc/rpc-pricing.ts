import { formatUsdFixed } from '../money.ts'

/** Price class of a method. */
export const RPC_TIERS = ['standard', 'advanced', 'large'] as const
export type RpcTier = (typeof RPC_TIERS)[number]

const TIER_MULTIPLIERS: Readonly<Record<RpcTier, number>> = { standard: 1, advanced: 2, large: 4 }

/** What an item costs whose answer is an `error` object, whatever its tier. */
export const RPC_ERROR_CREDITS = 5

const ADVANCED_PREFIX = /^(?:trace|debug|txpool|arbtrace)_/

/** Tier of a method that the specification does not price by name. */
export function defaultTier(method: string): RpcTier {
  return ADVANCED_PREFIX.test(method) ? 'advanced' : 'standard'
}

/** `baseCredits[chain]` × tier multiplier. */
export function creditsOf(baseCredits: number, tier: RpcTier): number {
  return baseCredits * TIER_MULTIPLIERS[tier]
}

/** Decimal string with 8 decimals. Odd multiples of 5 credits end in exactly half a unit, which floating point rounds wrongly. */
export function costUsdOf(credits: number, pricePerCreditNanoUsd: bigint): string {
  return formatUsdFixed(BigInt(credits) * pricePerCreditNanoUsd, 8)
}
