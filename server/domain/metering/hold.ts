import type { Currency } from '../money.ts'

/** A request's worst-case price, set aside before the upstream is called; durable, and released by a sweeper when its process dies. */
export interface Hold {
  holdId: string
  requestId: string
  accountId: string
  keyId: string | null
  currency: Currency
  amountNanoUsd: bigint
  admittedAt: Date
  /** Balances before the request, for the balance headers. */
  balancesBefore: { usdNano: bigint; diemNano: bigint }
}

export const USAGE_OUTCOMES = [
  'completed',
  'client_disconnected',
  'cut_by_balance',
  'cut_by_key',
  'rpc_error',
  'upstream_failed',
  'released',
] as const
export type UsageOutcome = (typeof USAGE_OUTCOMES)[number]

export const USAGE_UNIT_TYPES = ['tokens', 'images', 'chars', 'minutes', 'seconds', 'credits'] as const
export type UsageUnitType = (typeof USAGE_UNIT_TYPES)[number]

export const USAGE_MODEL_TYPES = ['LLM', 'IMAGE', 'TTS', 'ASR', 'VIDEO'] as const
export type UsageModelType = (typeof USAGE_MODEL_TYPES)[number]

/** One priced part of a request, such as its input tokens. The parts' amounts add up to the charge exactly. */
export interface UsageLine {
  /** `Input`, `Output`, `Cache Read`, `Cache Write`; for RPC the method's name. */
  type: string
  units: number
  amountNanoUsd: bigint
  /** USD for one unit, an exact decimal, where the line has one price; for the receipt, since catalogues change. */
  unitPriceUsd?: string
}

/** What a request used and costs: written with the charge, in one transaction. */
export interface Usage {
  /** Stock-keeping name: the model id, or `crypto-rpc-<network>`. */
  sku: string
  modelName: string
  modelType: UsageModelType | null
  unitType: UsageUnitType
  lines: UsageLine[]
  outcome: UsageOutcome
  /** True where the upstream's own count was missing or absurd and ours stands in. */
  estimated: boolean
  upstreamId: string | null
  retries: number
  durationMs: number
}

/** A request that was admitted and costs nothing, since it failed: what the request log shows of it. */
export type UnchargedUsage = Omit<Usage, 'lines'>

/** What settling `usage` charges: never more than its hold. */
export function chargeOf(usage: Pick<Usage, 'lines'>, heldNanoUsd: bigint): bigint {
  const total = usage.lines.reduce((sum, line) => sum + line.amountNanoUsd, 0n)
  return total < heldNanoUsd ? total : heldNanoUsd
}

export interface Receipt {
  chargedNanoUsd: bigint
  currency: Currency
  /** Balances right after the charge. */
  balanceAfterNano: bigint
  /** False when an earlier attempt had settled this hold already. */
  settledNow: boolean
}
