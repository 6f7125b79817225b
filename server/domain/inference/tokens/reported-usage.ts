import type { PricedUsage, TokenPricing, TokenUsage } from '../../catalogue/token-pricing.ts'
import type { MeteredRequest } from '../../metering/metered-request.ts'
import { extendHold } from './extend-hold.ts'

/** A request's tokens and price, and whether our count replaces the provider's. */
export interface MeasuredUsage<Tokens extends TokenUsage = TokenUsage> {
  tokens: Tokens
  priced: PricedUsage
  estimated: boolean
}

interface Measurement<Tokens extends TokenUsage> {
  pricing: TokenPricing
  metered: Pick<MeteredRequest, 'hold' | 'extend'>
  /** The provider's count; undefined if it is missing or implausible. */
  reported: Tokens | undefined
  count: () => Promise<Tokens>
}

/**
 * Decides the usage to charge. A plausible count of the provider is the operator's cost, so it is charged even above the
 * hold: the hold is extended, and if the balance or the key's limit does not allow that, the whole hold is charged. Our
 * own count is charged only if the provider's is missing or implausible.
 */
export async function measureReported<Tokens extends TokenUsage>(
  measurement: Measurement<Tokens>,
): Promise<MeasuredUsage<Tokens>> {
  const { pricing, metered, reported, count } = measurement
  if (reported === undefined) {
    const tokens = await count()
    return { tokens, priced: pricing.price(tokens), estimated: true }
  }
  const priced = pricing.price(reported)
  const missingNanoUsd = priced.amountNanoUsd - metered.hold.amountNanoUsd
  if (missingNanoUsd > 0n) await extendHold(metered, missingNanoUsd)
  return { tokens: reported, priced, estimated: false }
}

interface TokenBounds {
  promptTokensMax: number
  completionTokensMax: number
}

/** Whether a model can have read and written this many tokens; every request has a prompt. */
export function isPlausible(tokens: TokenUsage, { promptTokensMax, completionTokensMax }: TokenBounds): boolean {
  const { promptTokens, completionTokens, cachedTokens, cacheWriteTokens } = tokens
  if (![promptTokens, completionTokens, cachedTokens, cacheWriteTokens].every(isCount)) return false
  if (cachedTokens + cacheWriteTokens > promptTokens) return false
  return promptTokens >= 1 && promptTokens <= promptTokensMax && completionTokens <= completionTokensMax
}

export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
