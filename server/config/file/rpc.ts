import { z } from 'zod'
import { HttpUrl } from './http-url.ts'

/** A thousand dollars: a batch of 100 of the most expensive calls still fits into 64-bit nano-USD 700 times. */
const PRICE_PER_CREDIT_NANO_MAX = 1_000_000_000_000

/** A JSON-RPC node of one network. */
const RpcUpstream = z.strictObject({
  url: HttpUrl,
  maxBatch: z
    .int()
    .positive()
    .optional()
    .describe('Maximum items in one batch to the node; 1 for a node without batches'),
  timeoutSeconds: z.number().positive().max(3_600).default(30),
  checkChain: z
    .boolean()
    .default(true)
    .describe('Reject the node if it serves another chain; set false for development nodes with a chain of their own'),
  headers: z.record(z.string(), z.string()).optional(),
})

const ImmutableCache = z
  .strictObject({
    maxBytes: z
      .int()
      .positive()
      .default(67_108_864)
      .describe('Memory for responses, in bytes; the oldest ones are evicted'),
  })
  .describe('Serve immutable responses from memory, at the same price; off if absent')

export const RpcSection = z
  .strictObject({
    networks: z
      .record(
        z.string(),
        z.strictObject({
          upstreams: z
            .array(RpcUpstream)
            .min(1)
            .describe('Nodes in order of preference; the next one is used if one fails'),
        }),
      )
      .default({}),
    publicNodes: z.boolean().default(true).describe('Use public nodes for the networks that are not configured'),
    optionalMethods: z
      .union([z.literal(true), z.array(z.string())])
      .default([])
      .describe('Enabled methods of the class "optional"; true enables all of them'),
    coalesceReads: z
      .boolean()
      .default(false)
      .describe('Identical reads in progress at the same time share one call to a node; each caller pays'),
    cacheImmutable: ImmutableCache.optional(),
    pricePerCreditNanoUsd: z.int().min(0).max(PRICE_PER_CREDIT_NANO_MAX).default(625),
    extraFamily: z
      .string()
      .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, { error: 'must be lower-case words joined by hyphens' })
      .default('robinhood')
      .describe('Family name of the EVM networks that are missing in the method table'),
  })
  .prefault({})
export type RpcSection = z.output<typeof RpcSection>
