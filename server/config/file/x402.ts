import { z } from 'zod'
import { HttpUrl } from './http-url.ts'

const EvmAddress = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/, { error: 'must be an address: 0x and 40 hexadecimal digits' })

const Facilitator = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('local'), privateKey: z.string().min(1) }),
  z.strictObject({ kind: z.literal('remote'), url: HttpUrl }),
])

const chain = (asset: string) =>
  z.strictObject({
    payTo: z.string().min(1).describe('Address that receives the USDC; use it only for payments to this service'),
    rpcUrl: HttpUrl,
    asset: z.string().min(1).default(asset).describe('USDC contract or mint'),
    facilitator: Facilitator,
  })

const Confirmations = z.int().min(1).max(1_000)

const Base = chain('0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913').extend({
  tokenName: z.string().min(1).default('USD Coin').describe("Name in the EIP-712 domain of the asset's contract"),
  tokenVersion: z.string().min(1).default('2').describe("Version in the EIP-712 domain of the asset's contract"),
  confirmations: z
    .union([
      Confirmations,
      z.array(z.strictObject({ upToUsd: z.number().positive(), confirmations: Confirmations })).min(1),
    ])
    .default([
      { upToUsd: 100, confirmations: 1 },
      { upToUsd: 1_000, confirmations: 5 },
      { upToUsd: 10_000, confirmations: 30 },
    ])
    .describe('Blocks that must contain a transfer before it is credited: one number, or steps by amount'),
  finalityBlocks: z
    .int()
    .min(1)
    .max(100_000)
    .default(900)
    .describe('Blocks for which a credited transfer is checked again, because a reorganization could undo it'),
  maxValiditySeconds: z
    .int()
    .min(300)
    .max(86_400)
    .default(3_900)
    .describe('How far ahead a payment may expire (validBefore)'),
  maxGas: z
    .int()
    .min(60_000)
    .max(10_000_000)
    .default(500_000)
    .describe('Maximum gas of one settlement, as estimated by the node; a larger one is not sent'),
  maxFeePerGasGwei: z
    .number()
    .positive()
    .max(100_000)
    .default(5)
    .describe('Highest gas price of settlements; while the chain requires more, none is sent'),
  dailyFeeEth: z
    .number()
    .positive()
    .max(1_000)
    .default(0.05)
    .describe('Maximum fees of all settlements of a UTC day, in ETH; once spent, payments get 503 until the next day'),
  eip6492Factories: z
    .array(EvmAddress)
    .default([])
    .describe('Factories of contract wallets that may pay before they are deployed; the facilitator calls them'),
})

const Solana = chain('EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v').extend({
  maxPriorityFeeLamports: z
    .int()
    .min(0)
    .max(1_000_000)
    .default(20_000)
    .describe('Maximum total priority fee of one settlement; a payment that requires more is rejected'),
  dailyFeeLamports: z
    .int()
    .positive()
    .max(1_000_000_000_000)
    .default(100_000_000)
    .describe(
      'Maximum fees of all settlements of a UTC day, in lamports; once spent, payments get 503 until the next day',
    ),
  finalizedAboveUsd: z
    .number()
    .min(0)
    .default(1_000)
    .describe('Payments above this amount are credited when they are finalized, others when they are confirmed'),
})

/** Payments by wallet. An absent chain is not offered. */
export const X402Section = z
  .strictObject({
    base: Base.optional(),
    solana: Solana.optional(),
    minimumBalanceUsd: z
      .number()
      .min(0)
      .max(1_000_000)
      .default(0.1)
      .describe('A wallet below this balance is asked to top up'),
    sessionSeconds: z
      .int()
      .min(60)
      .max(86_400)
      .default(3_600)
      .describe('How long a wallet that signed in through GraphQL stays signed in'),
    payPerRequest: z
      .boolean()
      .default(true)
      .describe('Whether a payment header on an inference or RPC route tops up the wallet and then runs the request'),
    answerSeconds: z
      .number()
      .positive()
      .max(120)
      .default(30)
      .describe('How long a response waits for a payment to settle before it reports the payment as pending'),
    alarmMinutes: z
      .number()
      .positive()
      .default(15)
      .describe('Age at which an unresolved payment is logged as an error'),
  })
  .prefault({})
