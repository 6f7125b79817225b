import type { ColumnType, Generated, Selectable } from 'kysely'

type Json = ColumnType<unknown, string | null, string | null>

/** What became of a request that came with an `Idempotency-Key`; forgotten after 24 hours. */
export interface IdempotencyRecordsTable {
  account_id: string
  key: string
  /** SHA-256 of method, path and raw body. */
  fingerprint: Uint8Array
  /** Runs; has an answer that is yet to be charged; over. */
  state: 'in_progress' | 'answered' | 'done'
  /** Whose work it is; null once its process gave it up. */
  process_id: string | null
  /** The request that was executed, under which it is charged. */
  request_id: string
  created_at: Date
  expires_at: Date
  status: number | null
  /** `{name: value}` of the headers that a repeat gets. */
  headers: Json
  /** What the answer costs, to charge it after a crash; null for one that costs nothing. */
  charge: Json
  /** Up to 240 KiB, sealed; null for an answer in chunks and for one that was too large to keep. */
  body: Uint8Array | null
  body_bytes: bigint | null
  chunk_count: number | null
  /** Repeats that got the kept answer. */
  replays: Generated<number>
}

export type IdempotencyRecordRow = Selectable<IdempotencyRecordsTable>
