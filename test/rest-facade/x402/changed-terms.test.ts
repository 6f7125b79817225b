import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { baseRequirement, createFundedPayer, signAuthorization } from '../../support/base-payments.ts'
import { encodeHeader, PAYMENT_SHAPES, paymentHeader } from '../../support/payment-headers.ts'
import { type PaymentsApp, startPaymentsApp } from '../../support/payments-harness.ts'
import { createSolanaPayer, SOLANA_FACILITATOR_ADDRESS } from '../../support/solana-chain.ts'
import { signSolanaPayment, solanaRequirement } from '../../support/solana-payments.ts'

const NEW_PAYEE = '0x00000000000000000000000000000000000beef0'

let before: PaymentsApp
let after: PaymentsApp
beforeAll(async () => {
  before = await startPaymentsApp()
  const { db, runStatement } = before.server.database
  after = await startPaymentsApp({
    chains: before,
    overrides: { db, runStatement },
    base: { payTo: NEW_PAYEE },
    solana: { payTo: (await createSolanaPayer(before.solana)).address },
  })
})
afterAll(async () => {
  await before.server.assertLedgerClean()
  await after.close()
  await before.close()
})

describe.each([
  ['Base', async () => paymentHeader(baseRequirement(), await signAuthorization(await createFundedPayer(before.base)))],
  [
    'Solana',
    async () => {
      const payload = await signSolanaPayment(before.solana, await createSolanaPayer(before.solana))
      return { 'PAYMENT-SIGNATURE': encodeHeader(PAYMENT_SHAPES.v2(solanaRequirement(), payload)) }
    },
  ],
])('a changed payee on %s', (_chain, sign) => {
  test('a repeat of a former payment gets its response, so that nobody pays again for a lost one', async () => {
    const payment = await sign()
    const paid = await before.topUp(payment)
    expect(paid.status).toBe(200)
    const repeated = await after.topUp(payment)
    expect([repeated.status, await repeated.json()]).toEqual([200, await paid.json()])
  })

  test('a payment to the former one that was not sent yet is rejected, and so is a repeat with a request', async () => {
    const payment = await sign()
    const refused = await after.topUp(payment)
    expect([refused.status, await refused.json()]).toMatchObject([400, { code: 'INVALID_PAYMENT_RECIPIENT' }])
    expect((await before.topUp(payment)).status).toBe(200)
    const url = `${after.server.baseUrl}/chat/completions`
    expect((await fetch(url, { method: 'POST', headers: payment, body: '{}' })).status).toBe(409)
  })
})

test('the terms that are offered are the new ones', async () => {
  const { accepts } = await (await after.topUp()).json()
  expect(accepts).toMatchObject([{ payTo: NEW_PAYEE }, { extra: { feePayer: SOLANA_FACILITATOR_ADDRESS } }])
})
