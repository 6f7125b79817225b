/** Bytes of an account's kept responses; at most its quota. */
export interface IdempotencyStorageTable {
  account_id: string
  bytes: bigint
}

/** The same by the hour at whose start they stop counting; the sum of an account's rows is its row above. */
export interface IdempotencyWrittenTable {
  account_id: string
  expires_at: Date
  bytes: bigint
}

/** One row: the bytes of all accounts, each rounded up to 64 KiB. */
export interface IdempotencyTotalTable {
  only_row: true
  bytes: bigint
}
