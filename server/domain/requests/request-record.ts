import type { UsageModelType, UsageOutcome, UsageUnitType } from '../metering/hold.ts'
import type { Currency } from '../money.ts'

/** One priced part of a request. The parts' amounts add up to its charge exactly. */
export interface RequestLine {
  /** `Input`, `Output`, `Cache Read`, `Cache Write`; for RPC the method's name. */
  type: string
  units: number
  amountNanoUsd: bigint
  /** USD for one unit at the time, an exact decimal; null where the line has no such price. */
  unitPriceUsd: string | null
}

/** A request that has ended, charged or not: its entry in the log and its receipt. */
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
  /** What was set aside before the upstream was called. */
  holdNanoUsd: bigint
  chargeNanoUsd: bigint
  lines: RequestLine[]
  outcome: UsageOutcome
  /** Whether our count stands in for the upstream's. */
  estimated: boolean
  /** The provider or node that answered; null where none did. */
  upstreamId: string | null
  /** Upstreams that failed before that one. */
  retries: number
  durationMs: number
  admittedAt: Date
  settledAt: Date
}

/** A record with its place in the order in which the account's requests were settled. */
export interface RecordedRequest extends RequestRecord {
  position: bigint
}

/** Requests of an account in the order in which they were settled. */
export interface SettledBatch {
  requests: readonly RecordedRequest[]
  /** Of the last request: a feed that begins behind it goes on without a gap. */
  position: bigint
  /** Whether requests before these were left out, since too many were missed. */
  missed: boolean
}

/** A batch as watchers get it. */
export interface SettledRequests {
  accountId: string
  requests: readonly RecordedRequest[]
  /** Opaque; the feed continues behind it. */
  cursor: string
  missed: boolean
}
