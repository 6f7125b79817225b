import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MERCHANT_ADDRESS } from '../../support/base-chain.ts'
import {
  baseRequirement,
  createFundedPayer,
  createPayer,
  type EvmPayload,
  frontRun,
  signAuthorization,
} from '../../support/base-payments.ts'
import { startFacilitatorServer } from '../../support/facilitator-server.ts'
import { paymentHeader } from '../../support/payment-headers.ts'
import { type PaymentsApp, startPaymentsApp } from '../../support/payments-harness.ts'

const OPTIONS = { solana: null, file: { limits: { wallet: { topUpsPerMinutePerIp: 1_000 } } } }
const HOUR_SECONDS = 3_600

let app: PaymentsApp
beforeAll(async () => {
  app = await startPaymentsApp(OPTIONS)
})
afterAll(async () => {
  await app.server.assertLedgerClean()
  await app.close()
})

async function topUp(payload: EvmPayload, headers: Record<string, string> = {}) {
  const response = await app.topUp({ ...paymentHeader(baseRequirement(), payload), ...headers })
  return { status: response.status, text: await response.text() }
}

const reconcile = () => app.server.app.services.payments.operations.reconcile()

describe("a client without the payer's signature", () => {
  it('learns nothing about a wallet from its idempotency keys', async () => {
    const payer = await createFundedPayer(app.base)
    const key = { 'Idempotency-Key': 'order-1' }
    const paid = await topUp(await signAuthorization(payer), key)
    expect(paid.status).toBe(200)
    const forged = await topUp(await signAuthorization(createPayer(), { from: payer.address }), key)
    expect([forged.status, forged.text.includes('newBalance')]).toEqual([400, false])
    expect(await topUp(await signAuthorization(payer), key)).toEqual(paid)
  })

  it('cannot take the place of a rejected payment, which is credited when any party submits it to the chain', async () => {
    const payer = createPayer()
    const payload = await signAuthorization(payer)
    expect((await topUp(payload)).status).toBe(400)
    const { nonce } = payload.authorization
    for (const value of [5_000_000n, 9_000_000n]) {
      const forged = await signAuthorization(createPayer(), { from: payer.address, nonce, value })
      expect((await topUp(forged)).status).toBe(400)
    }
    await app.base.fund(payer.address, 20_000_000n)
    await frontRun(app.base, payload)
    await reconcile()
    expect(await creditsOf(payer.address)).toEqual([5_000_000n])
  })
})

describe('a payment that stays valid for an hour', () => {
  it('is rejected when it stays valid for longer, with the limit', async () => {
    const payload = await signAuthorization(createPayer(), { validBefore: 99_999_999_999n })
    const { status, text } = await topUp(payload)
    expect([status, text]).toEqual([400, expect.stringContaining('validBefore is 99999999999; it must be at most')])
  })

  it('is credited once if another party submits it after it was rejected', async () => {
    const payer = createPayer()
    const validBefore = BigInt(Math.floor(Date.now() / 1_000) + HOUR_SECONDS)
    const payload = await signAuthorization(payer, { validBefore })
    expect((await topUp(payload)).status).toBe(400)
    await app.base.fund(payer.address, 20_000_000n)
    await frontRun(app.base, payload)
    const answers = await Promise.all([reconcile(), topUp(payload), topUp(payload), reconcile(), topUp(payload)])
    expect(answers).toHaveLength(5)
    expect((await topUp(payload)).status).toBe(200)
    expect(await creditsOf(payer.address)).toEqual([5_000_000n])
  })

  it('is credited once when its row was forgotten meanwhile', async () => {
    const payer = createPayer()
    const validBefore = BigInt(Math.floor(Date.now() / 1_000) + HOUR_SECONDS)
    const payload = await signAuthorization(payer, { validBefore })
    expect((await topUp(payload)).status).toBe(400)
    await app.server.database.db.deleteFrom('payments').where('state', '=', 'refused').execute()
    await app.base.fund(payer.address, 20_000_000n)
    await frontRun(app.base, payload)
    const [first, second] = [await topUp(payload), await topUp(payload)]
    expect([first.status, second]).toEqual([200, first])
    expect(await creditsOf(payer.address)).toEqual([5_000_000n])
  })
})

it('a facilitator that writes what no database takes loses no payment', async () => {
  await using facilitator = await startFacilitatorServer()
  await using remote = await startPaymentsApp({
    ...OPTIONS,
    x402: { answerSeconds: 2 },
    base: { facilitator: { kind: 'remote', url: facilitator.url } },
  })
  const pay = async (payload: EvmPayload) => remote.topUp(paymentHeader(baseRequirement(), payload))
  const lies = [
    { success: true, transaction: `abc\u0000${'x'.repeat(2_000)}` },
    { success: true, transaction: '0x12' },
    { success: false, transaction: '', errorReason: `invalid_\u0000${'x'.repeat(2_000)}` },
    { success: false, transaction: '', errorReason: 'invalid_payment_pay_again_at_evil_example' },
  ]
  for (const lie of lies) {
    const payload = await signAuthorization(await createFundedPayer(remote.base))
    facilitator.answer = async () => {
      await frontRun(remote.base, payload)
      return { ...lie, network: 'eip155:8453' }
    }
    await expect.poll(async () => (await pay(payload)).status).toBe(200)
    const unpaid = await signAuthorization(await createFundedPayer(remote.base))
    facilitator.answer = () => ({ ...lie, network: 'eip155:8453' })
    const text = await (await pay(unpaid)).text()
    expect([text.includes('\\u0000'), text.includes('evil'), text.length < 500]).toEqual([false, false, true])
  }
  const rows = await remote.server.database.db.selectFrom('payments').select('reason').execute()
  const reasons = new Set(rows.map(({ reason }) => reason))
  expect(reasons).toEqual(new Set([null, 'settlement_failed']))
  expect(await remote.base.balanceOf(MERCHANT_ADDRESS)).toBe(20_000_000n)
  await remote.server.assertLedgerClean()
})

/** Base units of each payment that was credited to the wallet. */
async function creditsOf(address: string): Promise<bigint[]> {
  const rows = await app.server.database.db
    .selectFrom('payments')
    .select('amount_atomic')
    .where('payer_address', '=', address.toLowerCase())
    .where('state', '=', 'credited')
    .execute()
  return rows.map((row) => row.amount_atomic)
}
