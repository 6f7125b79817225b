/** The rest of a stored response that is too large for its record: 60 KiB of the body per row, sealed. */
export interface IdempotencyChunksTable {
  account_id: string
  key: string
  request_id: string
  position: number
  content: Uint8Array
}
