import type { Usage } from '../metering/hold.ts'
import type { RatePlan } from '../rate-limits/rate-plan.ts'

/** The owner and key of a record; each account has its own keys. */
export interface RecordId {
  accountId: string
  key: string
}

/** The execution behind a record. Every write names it, so that a process that lost its record cannot change it. */
export interface RunId extends RecordId {
  /** With dashes, as in the database. */
  requestId: string
  /** Null if no process is working on it. */
  processId: string | null
}

export interface StoringRun extends RunId {
  expiresAt: Date
}

export interface Claim extends RunId {
  fingerprint: Buffer
}

/** Storage limits in bytes; the two totals cover the last 24 hours. */
export interface StorageLimits {
  maxResponseBytes: number
  maxAccountBytes: number
  maxTotalBytes: number
}

/**
 * The price of a response: enough to charge it after its process died, and to count repeats against the same rate window.
 */
export interface AnswerPrice {
  usage: Usage
  /** The hold's amount, the maximum charge. */
  maxNanoUsd: bigint
  admittedAt: Date
  ratePlan: RatePlan
}

/** Where a response body is stored: in the record, in its own rows, or nowhere because there was no room. */
export type KeptBody =
  | { kind: 'inline'; sealed: Uint8Array; bytes: number }
  | { kind: 'chunks'; count: number; bytes: number }
  | { kind: 'dropped'; bytes: number }

export interface KeptAnswer {
  status: number
  headers: Record<string, string>
  price: AnswerPrice | null
  body: KeptBody
}

export interface IdempotencyRecord extends Claim {
  /** Its 24 hours have passed, by the database's clock. */
  expired: boolean
  /** `answered`: the response is stored, but its charge may not be durable yet. */
  state: 'in_progress' | 'answered' | 'done'
  /** The process working on it still renews its lease. */
  alive: boolean
  /** Null while in progress. */
  answer: KeptAnswer | null
}

/** The `Idempotency-Key` of a request, and how often its response was replayed. */
export interface RequestKey {
  key: string
  replays: number
  keptUntil: Date
}
