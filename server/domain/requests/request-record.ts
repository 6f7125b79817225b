import type { UsageModelType, UsageOutcome, UsageUnitType } from '../metering/hold.ts'
import type { Currency } from '../money.ts'

/** One priced part of a request. The parts' amounts add up to its charge exactly. */
export interface RequestLine {
  /** `Input`, `Output`, `Cache Read`, `Cache Write`; for RPC the method's name. */
  type: string
  units: number
  amountNanoUsd: bigint
  /** USD per unit at the time, an exact decimal; null if the line has no such price. */
  unitPriceUsd: string | null
}

/** A finished request, charged or not: its entry in the log and its receipt. */
export interface RequestRecord {
  /** 32 hexadecimal characters, as in the response header `CF-RAY`. */
  requestId: string
  accountId: string
  keyId: string | null
  /** Model id, or `crypto-rpc-<network>`. */
  sku: string
  modelName: string
  modelType: UsageModelType | null
  unitType: UsageUnitType
  currency: Currency
  /** The amount reserved before the upstream was called. */
  holdNanoUsd: bigint
  chargeNanoUsd: bigint
  lines: RequestLine[]
  outcome: UsageOutcome
  /** Whether our count replaces the upstream's. */
  estimated: boolean
  /** The provider or node that responded; null if none did. */
  upstreamId: string | null
  /** Number of upstreams that failed before that one. */
  retries: number
  durationMs: number
  admittedAt: Date
  settledAt: Date
}

/** A record with its position in the account's settlement order. */
export interface RecordedRequest extends RequestRecord {
  position: bigint
}

export interface SettledBatch {
  requests: readonly RecordedRequest[]
  /** Position of the last request: a feed that starts after it has no gap. */
  position: bigint
  /** Whether earlier requests were left out because too many were missed. */
  missed: boolean
}

export interface SettledRequests {
  accountId: string
  requests: readonly RecordedRequest[]
  /** Opaque; the feed continues after it. */
  cursor: string
  missed: boolean
}
