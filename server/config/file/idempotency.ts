import { z } from 'zod'

const MEBIBYTE = 1024 * 1024

/**
 * How much of the database responses under an `Idempotency-Key` may take. A larger response is sent and charged, but
 * not stored.
 */
export const IdempotencySection = z
  .strictObject({
    maxResponseBytes: z
      .int()
      .min(0)
      .default(32 * MEBIBYTE)
      .describe('Largest response, in bytes, that is stored for repeats'),
    maxAccountBytes: z
      .int()
      .min(0)
      .default(256 * MEBIBYTE)
      .describe('Bytes that one account may store in 24 hours'),
    maxTotalBytes: z
      .int()
      .min(0)
      .default(16 * 1024 * MEBIBYTE)
      .describe('Bytes that all accounts together may store in 24 hours; each account counts in full steps of 64 KiB'),
  })
  .prefault({})
export type IdempotencySection = z.output<typeof IdempotencySection>
