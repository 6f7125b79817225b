import { z } from 'zod'
import { HttpUrl } from './http-url.ts'

/** A thousand dollars: a batch of 100 of the dearest calls still fits into 64-bit nano-USD 700 times. */
const PRICE_PER_CREDIT_NANO_MAX = 1_000_000_000_000

/** A JSON-RPC node of one network. */
const RpcUpstream = z.strictObject({
  url: HttpUrl,
  maxBatch: z.int().positive().optional().describe('Items that the node takes in one batch; 1: it takes none'),
  timeoutSeconds: z.number().positive().max(3_600).default(30),
  checkChain: z
    .boolean()
    .default(true)
    .describe('Refuse the node when it serves another chain; false is for development nodes with a chain of their own'),
  headers: z.record(z.string(), z.string()).optional(),
})

const ImmutableCache = z
  .strictObject({
    maxBytes: z.int().positive().default(67_108_864).describe('Memory for answers; the oldest ones make room'),
  })
  .describe('Answers that can no longer change are given from memory, at the same price; absent: off')

export const RpcSection = z
  .strictObject({
    networks: z
      .record(
        z.string(),
        z.strictObject({
          upstreams: z.array(RpcUpstream).min(1).describe('In order: the next one serves when one fails'),
        }),
      )
      .default({}),
    publicNodes: z
      .boolean()
      .default(true)
      .describe('Serve the networks that are not configured by nodes that their chains publish for everybody'),
    optionalMethods: z
      .union([z.literal(true), z.array(z.string())])
      .default([])
      .describe('Methods of the class "optional" that are served; true: all of them'),
    coalesceReads: z
      .boolean()
      .default(false)
      .describe('Identical reads that are under way at the same time share one call to a node; each pays'),
    cacheImmutable: ImmutableCache.optional(),
    pricePerCreditNanoUsd: z.int().min(0).max(PRICE_PER_CREDIT_NANO_MAX).default(625),
    extraFamily: z
      .string()
      .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, { error: 'must be lower-case words joined by hyphens' })
      .default('robinhood')
      .describe('Family of the EVM networks that the method table omits'),
  })
  .prefault({})
export type RpcSection = z.output<typeof RpcSection>
