import type { ColumnType, Generated, Selectable } from 'kysely'

type Json = ColumnType<unknown, string | null, string | null>

/** State of a request that was sent with an `Idempotency-Key`; deleted after 24 hours. */
export interface IdempotencyRecordsTable {
  account_id: string
  key: string
  /** SHA-256 of method, path and raw body. */
  fingerprint: Uint8Array
  /** Running; has a response but is not charged yet; finished. */
  state: 'in_progress' | 'answered' | 'done'
  /** The process that works on it; null once that process gave it up. */
  process_id: string | null
  /** The executed request, under which it is charged. */
  request_id: string
  created_at: Date
  expires_at: Date
  status: number | null
  /** `{name: value}` of the headers that a repeat receives. */
  headers: Json
  /** The price of the response, to charge it after a crash; null if it is free. */
  charge: Json
  /** Up to 240 KiB, sealed; null for a response in chunks and for one too large to store. */
  body: Uint8Array | null
  body_bytes: bigint | null
  chunk_count: number | null
  /** Repeats that received the stored response. */
  replays: Generated<number>
}

export type IdempotencyRecordRow = Selectable<IdempotencyRecordsTable>
