import type { Usage } from '../metering/hold.ts'
import type { RatePlan } from '../rate-limits/rate-plan.ts'

/** Whose record it is; an account's keys are its own. */
export interface RecordId {
  accountId: string
  key: string
}

/** The execution that a record stands for. Every write names it, so that a process that lost its record cannot change it. */
export interface RunId extends RecordId {
  /** As the database knows it, with dashes. */
  requestId: string
  /** Null: nobody works on it. */
  processId: string | null
}

/** An execution whose response is being stored. */
export interface StoringRun extends RunId {
  expiresAt: Date
}

/** A request about to be executed under its key. */
export interface Claim extends RunId {
  fingerprint: Buffer
}

/** How much may be stored, in bytes; the two sums are of what was written in 24 hours. */
export interface StorageLimits {
  maxResponseBytes: number
  maxAccountBytes: number
  maxTotalBytes: number
}

/** What an answer costs: enough to charge it after its process died, and to count its repeats in the same window. */
export interface AnswerPrice {
  usage: Usage
  /** The hold's amount, which no charge exceeds. */
  maxNanoUsd: bigint
  admittedAt: Date
  ratePlan: RatePlan
}

/** Where the body of a response is: in the record, in rows of its own, or nowhere since there was no room for it. */
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
  /** Its 24 hours are over, by the clock of the database. */
  expired: boolean
  /** `answered`: the answer is kept, its charge is not known to be durable. */
  state: 'in_progress' | 'answered' | 'done'
  /** The process that works on it renews its lease. */
  alive: boolean
  /** Null while in progress. */
  answer: KeptAnswer | null
}

/** The `Idempotency-Key` that a request was made under, and how often its answer was given again. */
export interface RequestKey {
  key: string
  replays: number
  keptUntil: Date
}
