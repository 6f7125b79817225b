import { z } from 'zod'

const perMinute = (requestsPerMinute: number) =>
  z.strictObject({ requestsPerMinute: z.int().positive().default(requestsPerMinute) }).prefault({})

const textTier = (requestsPerMinute: number, tokensPerMinute: number) =>
  z
    .strictObject({
      requestsPerMinute: z.int().positive().default(requestsPerMinute),
      tokensPerMinute: z.int().positive().default(tokensPerMinute),
    })
    .prefault({})

/** The limits of one account tier; operators can override every default. */
const tierLimits = (table: {
  text: Record<'XS' | 'S' | 'M' | 'L', [requestsPerMinute: number, tokensPerMinute: number]>
  image: number
  audio: number
  embedding: number
  rpc: number
}) =>
  z
    .strictObject({
      text: z
        .strictObject({
          XS: textTier(...table.text.XS),
          S: textTier(...table.text.S),
          M: textTier(...table.text.M),
          L: textTier(...table.text.L),
        })
        .prefault({}),
      image: perMinute(table.image),
      audio: perMinute(table.audio),
      embedding: perMinute(table.embedding),
      videoQueue: perMinute(40),
      videoRetrieve: perMinute(120),
      rpc: z
        .strictObject({
          requestsPerMinute: z.int().positive().default(table.rpc),
          creditsPer24Hours: z.int().positive().default(10_000_000),
        })
        .prefault({}),
    })
    .prefault({})

const STANDARD = {
  text: { XS: [500, 1_000_000], S: [75, 750_000], M: [50, 750_000], L: [20, 500_000] },
  image: 20,
  audio: 60,
  embedding: 500,
  rpc: 100,
} satisfies Parameters<typeof tierLimits>[0]

const PARTNER = {
  text: { XS: [500, 2_000_000], S: [150, 1_500_000], M: [100, 1_500_000], L: [60, 1_000_000] },
  image: 60,
  audio: 120,
  embedding: 500,
  rpc: 100,
} satisfies Parameters<typeof tierLimits>[0]

export const LimitTable = z
  .strictObject({
    standard: tierLimits(STANDARD),
    partner: tierLimits(PARTNER),
    staff: tierLimits({ ...PARTNER, rpc: 1_000 }),
    wallet: z
      .strictObject({
        topUpsPerMinutePerIp: z.int().positive().default(60),
        failedSettlementsPerHour: z.int().positive().default(5),
        failedSettlementsPerHourPerIp: z.int().positive().default(20),
        balanceReadsPerMinute: z.int().positive().default(30),
        transactionReadsPerMinute: z.int().positive().default(20),
        web3KeyCallsPerMinutePerIp: z.int().positive().default(40),
      })
      .prefault({}),
    keys: z
      .strictObject({
        creationsPerMinute: z.int().positive().default(20),
        activePerAccount: z.int().positive().default(500),
      })
      .prefault({}),
    management: z.strictObject({ requestsPerMinute: z.int().positive().default(600) }).prefault({}),
    abuse: z
      .strictObject({
        failures: z.int().positive().default(20),
        windowSeconds: z.int().positive().default(30),
        blockSeconds: z.int().positive().default(30),
      })
      .prefault({}),
  })
  .prefault({})

export type LimitTable = z.output<typeof LimitTable>
export type TierLimits = LimitTable['standard']
