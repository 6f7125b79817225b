/** Bytes of an account's stored responses; at most its quota. */
export interface IdempotencyStorageTable {
  account_id: string
  bytes: bigint
}

/** The same bytes by the hour at whose start they stop counting; an account's rows add up to its row above. */
export interface IdempotencyWrittenTable {
  account_id: string
  expires_at: Date
  bytes: bigint
}

/** A single row: the bytes of all accounts, each rounded up to 64 KiB. */
export interface IdempotencyTotalTable {
  only_row: true
  bytes: bigint
}
