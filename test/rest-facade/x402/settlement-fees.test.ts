import { privateKeyToAddress } from 'viem/accounts'
import { afterEach, expect, test } from 'vitest'
import { FACILITATOR_KEY, MERCHANT_ADDRESS } from '../../support/base-chain.ts'
import { baseRequirement, createFundedPayer, type EvmPayload, signAuthorization } from '../../support/base-payments.ts'
import { paymentHeader } from '../../support/payment-headers.ts'
import { type PaymentsApp, startPaymentsApp } from '../../support/payments-harness.ts'

const FACILITATOR = privateKeyToAddress(FACILITATOR_KEY)
const NETWORK = 'eip155:8453'

let app: PaymentsApp
afterEach(() => app.close())

const start = async (base: Record<string, unknown>, limits: Record<string, number> = {}) => {
  app = await startPaymentsApp({ solana: null, base, file: { limits: { wallet: limits } } })
}
const sign = async () => signAuthorization(await createFundedPayer(app.base))

async function topUp(payload: EvmPayload) {
  const response = await app.topUp(paymentHeader(baseRequirement(), payload))
  return { status: response.status, retryAfter: response.headers.get('retry-after'), text: await response.text() }
}

const sentTransactions = () => app.base.client.getTransactionCount({ address: FACILITATOR })
const gasBalance = () => app.base.client.getBalance({ address: FACILITATOR })

async function spentToday(): Promise<bigint> {
  const row = await app.server.database.db
    .selectFrom('payment_fees')
    .select('spent')
    .where('network', '=', NETWORK)
    .executeTakeFirstOrThrow()
  return BigInt(row.spent)
}

test('the fees of the day are what the settlements cost on the chain', async () => {
  await start({})
  const before = await gasBalance()
  for (let payment = 0; payment < 3; payment++) expect((await topUp(await sign())).status).toBe(200)
  expect(await spentToday()).toBe(before - (await gasBalance()))
})

test('a payment gets 503, and nothing is sent, once the budget of the day is spent', async () => {
  await start({ dailyFeeEth: 0.000_02 })
  const payload = await sign()
  const rejected = await topUp(payload)
  expect([rejected.status, rejected.retryAfter]).toEqual([503, '3600'])
  expect(rejected.text).toContain('budget for settlement fees is spent for today')
  expect([await sentTransactions(), await app.base.balanceOf(MERCHANT_ADDRESS)]).toEqual([0, 0n])
  await app.server.database.db.updateTable('payment_fees').set({ spent: '20000000000000' }).execute()
  expect((await topUp(payload)).status).toBe(503)
  expect(await sentTransactions()).toBe(0)
})

test('a payment gets 503, and passes later, while the chain asks for more than the operator pays', async () => {
  await start({ maxFeePerGasGwei: 5 })
  await app.base.raiseBaseFee('50')
  const payload = await sign()
  const rejected = await topUp(payload)
  expect([rejected.status, rejected.retryAfter]).toEqual([503, '300'])
  expect([rejected.text.includes("network's fees"), await sentTransactions()]).toEqual([true, 0])
  await app.base.raiseBaseFee('1')
  expect((await topUp(payload)).status).toBe(200)
})

test('a wallet whose settlements fail on the chain is rejected with 429 before another one is sent', async () => {
  await start({}, { failedSettlementsPerHour: 2 })
  const payer = await createFundedPayer(app.base)
  for (let failure = 0; failure < 2; failure++) {
    const payload = await signAuthorization(payer)
    // The trial run passes, and then the wallet moves its money before the block.
    await app.base.fund(payer.address, 20_000_000n)
    await app.base.stopMining()
    const response = topUp(payload)
    await expect.poll(() => app.base.client.getTxpoolStatus().then(({ pending }) => pending)).toBe(1)
    await app.base.fund(payer.address, 0n)
    await app.base.resumeMining()
    expect((await response).status).toBe(402)
  }
  await app.base.fund(payer.address, 20_000_000n)
  const sent = await sentTransactions()
  const rejected = await topUp(await signAuthorization(payer))
  expect([rejected.status, await sentTransactions()]).toEqual([429, sent])
  expect(rejected.text).toContain('2 settlements of one wallet that fail on chain per hour')
  expect((await topUp(await sign())).status).toBe(200)
})
