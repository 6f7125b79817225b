import { z } from 'zod'
import { HttpUrl } from './http-url.ts'

const Facilitator = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('local'), privateKey: z.string().min(1) }),
  z.strictObject({ kind: z.literal('remote'), url: HttpUrl }),
])

const chain = (asset: string) =>
  z.strictObject({
    payTo: z.string().min(1).describe('Address that receives the USDC'),
    rpcUrl: HttpUrl,
    asset: z.string().min(1).default(asset).describe('USDC contract or mint'),
    facilitator: Facilitator,
  })

/** Payments by wallet. An absent chain is not offered. */
export const X402Section = z
  .strictObject({
    base: chain('0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913').optional(),
    solana: chain('EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v').optional(),
    minimumBalanceUsd: z.number().min(0).default(0.1).describe('A wallet below this balance is asked to top up'),
    payPerRequest: z
      .boolean()
      .default(true)
      .describe('Whether a payment header on an inference or RPC route tops up the wallet and then runs the request'),
  })
  .prefault({})
