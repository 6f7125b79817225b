import { z } from 'zod'
import { HttpUrl } from './http-url.ts'

/** A JSON-RPC node of one network. */
const RpcUpstream = z.strictObject({
  url: HttpUrl,
  maxBatch: z.int().positive().optional().describe('Items that the node takes in one batch; 1: it takes none'),
  timeoutSeconds: z.number().positive().max(3_600).default(30),
  headers: z.record(z.string(), z.string()).optional(),
})

export const RpcSection = z
  .strictObject({
    networks: z
      .record(
        z.string().regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, { error: 'a network slug is lower-case words joined by hyphens' }),
        z.strictObject({
          upstreams: z.array(RpcUpstream).min(1).describe('In order: the next one serves when one fails'),
        }),
      )
      .default({}),
    pricePerCreditNanoUsd: z.int().min(0).default(625),
    extraFamily: z
      .string()
      .min(1)
      .default('robinhood')
      .describe('Family of the EVM networks that the method table omits'),
  })
  .prefault({})
export type RpcSection = z.output<typeof RpcSection>
