import { randomBytes } from 'node:crypto'
import { toHex } from 'viem'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../server/domain/clock.ts'
import { MERCHANT_ADDRESS } from '../support/base-chain.ts'
import { baseRequirement, createPayer, type EvmPayload, frontRun, signAuthorization } from '../support/base-payments.ts'
import { hasEngine } from '../support/database.ts'
import { createMoneyHarness } from '../support/money-harness.ts'
import { paymentHeader } from '../support/payment-headers.ts'
import { type PaymentsApp, startPaymentsApp } from '../support/payments-harness.ts'
import { repeats } from '../support/soak.ts'

const ROUNDS = repeats(5, { soak: 40 })
const [SMALL, LARGE] = [5_000_000n, 10_000_000_000n]
const OPTIONS = {
  engine: 'postgres',
  solana: null,
  file: { limits: { wallet: { topUpsPerMinutePerIp: 100_000, failedSettlementsPerHourPerIp: 100_000 } } },
} as const

interface Processes {
  app: PaymentsApp
  /** Sends a payment to the first or the second process; returns the status. */
  topUp: (at: 0 | 1, payload: EvmPayload) => Promise<number>
  reconcile: (at: 0 | 1) => Promise<unknown>
}

/** Two amounts under one nonce, of a wallet that can pay both. */
async function signBoth(): Promise<{ small: EvmPayload; large: EvmPayload; address: `0x${string}` }> {
  const payer = createPayer()
  const nonce = toHex(randomBytes(32))
  const [small, large] = await Promise.all([SMALL, LARGE].map((value) => signAuthorization(payer, { value, nonce })))
  if (small === undefined || large === undefined) throw new Error('two were signed')
  return { small, large, address: payer.address }
}

/** One is rejected for want of funds, then somebody puts either on the chain, while the other one is sent and both are checked. */
async function race({ app, topUp, reconcile }: Processes, round: number): Promise<EvmPayload[]> {
  const { small, large, address } = await signBoth()
  const [first, second] = round % 2 === 0 ? [small, large] : [large, small]
  if (round % 5 !== 4) expect(await topUp(0, first)).toBe(400)
  await app.base.fund(address, SMALL + LARGE)
  // Without a front-runner both are settled by the processes themselves, at the same time.
  if (round % 5 !== 4) await frontRun(app.base, round % 3 === 0 ? second : first)
  await Promise.all([reconcile(0), topUp(1, second), reconcile(1), topUp(0, first), topUp(1, second)])
  return [small, large]
}

describe.runIf(hasEngine('postgres'))('two amounts signed by a payer under one nonce', () => {
  test('credit exactly what the chain moved, whichever came first, with two processes', async () => {
    await using app = await startPaymentsApp(OPTIONS)
    const twin = await app.server.startTwin()
    await using _ = { [Symbol.asyncDispose]: () => twin.close() }
    const services = [app.server.app.services, twin.services] as const
    const processes: Processes = {
      app,
      topUp: async (at, payload) => {
        const headers = paymentHeader(baseRequirement(payload.authorization.value), payload)
        const url = [app.server.url, twin.url][at]
        return (await fetch(`${url}/api/v1/x402/top-up`, { method: 'POST', headers })).status
      },
      reconcile: (at) => services[at].payments.operations.reconcile(),
    }

    for (let round = 0; round < ROUNDS; round++) {
      const sent = await race(processes, round)
      const ends = sent.map(async (payload, index) => {
        const again = async () => processes.topUp(index === 0 ? 0 : 1, payload)
        await expect.poll(again, { interval: 200, timeout: 60_000 }).toSatisfy((status) => status !== 202)
        return again()
      })
      // Whichever the chain took is credited, and the other one never is.
      expect((await Promise.all(ends)).toSorted((a, b) => a - b)).toEqual([200, 402])
    }

    const { amount } = await app.server.database.db
      .selectFrom('ledger_transfers')
      .select(({ fn }) => fn.sum<string>('amount_nano').as('amount'))
      .where('kind', '=', 'top_up')
      .executeTakeFirstOrThrow()
    expect(BigInt(amount)).toBe((await app.base.balanceOf(MERCHANT_ADDRESS)) * 1_000n)
    expect((await createMoneyHarness(app.server.database.db, systemClock).ledger.verify()).ok).toBe(true)
  })
})
