import type { UsageLine } from '../metering/hold.ts'
import { formatPicoUsd, parseUsdPerMillion, roundPicoToNano } from '../money.ts'
import type { ModelPricing } from './model-definition.ts'

/** Tokens of one request; cached and cache-write tokens are included in the prompt. */
export interface TokenUsage {
  promptTokens: number
  completionTokens: number
  cachedTokens: number
  cacheWriteTokens: number
}

export interface PricedUsage {
  /** The line amounts add up to `amountNanoUsd` exactly. */
  lines: UsageLine[]
  amountNanoUsd: bigint
}

/** The price of one token, as a number and as receipts show it. */
interface TokenRate {
  /** The same number as micro-USD per million tokens. */
  picoUsd: bigint
  usd: string
}

interface TokenRates {
  input: TokenRate
  output: TokenRate
  cacheRead: TokenRate
  cacheWrite: TokenRate
}

const FREE = toRate(0n)

/**
 * Exact token prices of a model. Rates are whole pico-USD; each amount is multiplied first and rounded only once, half
 * up. Above `context_token_threshold` prompt tokens the extended rates apply to the whole request.
 */
export class TokenPricing {
  readonly #base: TokenRates
  readonly #extended: { threshold: number; rates: TokenRates } | undefined

  constructor(pricing: ModelPricing) {
    this.#base = readRates(pricing, { input: FREE, output: FREE, cacheRead: FREE, cacheWrite: FREE })
    const { extended } = pricing
    if (extended === undefined) return
    this.#extended = { threshold: extended.context_token_threshold, rates: readRates(extended, this.#base) }
  }

  price(usage: TokenUsage): PricedUsage {
    const rates = this.#ratesFor(usage.promptTokens)
    const { promptTokens, completionTokens, cachedTokens, cacheWriteTokens } = usage
    return addUp([
      { type: 'Input', units: promptTokens - cachedTokens - cacheWriteTokens, rate: rates.input },
      { type: 'Cache Read', units: cachedTokens, rate: rates.cacheRead },
      { type: 'Cache Write', units: cacheWriteTokens, rate: rates.cacheWrite },
      { type: 'Output', units: completionTokens, rate: rates.output },
    ])
  }

  /** Maximum cost of the request, rounded up: the prompt may be written to the cache at a higher rate. */
  worstCaseNanoUsd({ promptTokens, completionTokens }: { promptTokens: number; completionTokens: number }): bigint {
    const worst = (rates: TokenRates): bigint =>
      BigInt(promptTokens) * max(rates.input.picoUsd, rates.cacheRead.picoUsd, rates.cacheWrite.picoUsd) +
      BigInt(completionTokens) * rates.output.picoUsd
    // A prompt below the threshold by our count can exceed it by the provider's only within the margin in `promptTokens`.
    const picoUsd = max(worst(this.#base), worst(this.#ratesFor(promptTokens)))
    return (picoUsd + 999n) / 1_000n
  }

  /** Whether output is free at any length. */
  get outputIsFree(): boolean {
    return this.#base.output.picoUsd === 0n && (this.#extended?.rates.output.picoUsd ?? 0n) === 0n
  }

  #ratesFor(promptTokens: number): TokenRates {
    const extended = this.#extended
    return extended !== undefined && promptTokens > extended.threshold ? extended.rates : this.#base
  }
}

/** Each line is the difference of two rounded running totals, so that the lines add up exactly. */
function addUp(parts: readonly { type: string; units: number; rate: TokenRate }[]): PricedUsage {
  const lines: UsageLine[] = []
  let totalPicoUsd = 0n
  let totalNanoUsd = 0n
  for (const { type, units, rate } of parts) {
    if (units <= 0) continue
    totalPicoUsd += BigInt(units) * rate.picoUsd
    const roundedNanoUsd = roundPicoToNano(totalPicoUsd)
    lines.push({ type, units, amountNanoUsd: roundedNanoUsd - totalNanoUsd, unitPriceUsd: rate.usd })
    totalNanoUsd = roundedNanoUsd
  }
  return { lines, amountNanoUsd: totalNanoUsd }
}

function readRates(
  pricing: Pick<ModelPricing, 'input' | 'output' | 'cache_input' | 'cache_write'>,
  fallback: TokenRates,
): TokenRates {
  const rate = (price: { usd: number } | undefined): TokenRate | undefined => {
    const picoUsd = price === undefined ? undefined : parseUsdPerMillion(price.usd)
    return picoUsd === undefined ? undefined : toRate(picoUsd)
  }
  const input = rate(pricing.input) ?? fallback.input
  return {
    input,
    output: rate(pricing.output) ?? fallback.output,
    cacheRead: rate(pricing.cache_input) ?? input,
    cacheWrite: rate(pricing.cache_write) ?? input,
  }
}

function toRate(picoUsd: bigint): TokenRate {
  return { picoUsd, usd: formatPicoUsd(picoUsd) }
}

function max(...amounts: readonly bigint[]): bigint {
  return amounts.reduce((largest, amount) => (amount > largest ? amount : largest), 0n)
}
