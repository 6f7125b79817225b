import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MERCHANT_ADDRESS } from '../../support/base-chain.ts'
import { baseRequirement, createFundedPayer, signAuthorization } from '../../support/base-payments.ts'
import {
  decodeHeader,
  encodeHeader,
  PAYMENT_HEADERS,
  PAYMENT_SHAPES,
  paymentHeader,
} from '../../support/payment-headers.ts'
import { type PaymentsApp, startPaymentsApp } from '../../support/payments-harness.ts'

let app: PaymentsApp
beforeAll(async () => {
  app = await startPaymentsApp()
})
afterAll(async () => {
  await app.server.assertLedgerClean()
  await app.close()
})

describe('POST /x402/top-up', () => {
  it('returns the payment options without a payment, alike in body and header', async () => {
    const response = await app.topUp()
    const body = await response.json()
    expect(response.status).toBe(402)
    expect(decodeHeader(response.headers.get('payment-required'))).toEqual(body)
    expect(body).toMatchObject({ x402Version: 2, accepts: [baseRequirement('5000000'), { amount: '5000000' }] })
  })

  it.each(
    PAYMENT_HEADERS.flatMap((name) =>
      Object.entries(PAYMENT_SHAPES).map(([shape, envelope]) => ({ name, shape, envelope })),
    ),
  )('credits a payment in $name of form $shape to the base unit', async ({ name, envelope }) => {
    const payer = await createFundedPayer(app.base)
    const before = await app.base.balanceOf(MERCHANT_ADDRESS)
    const payload = await signAuthorization(payer, { value: 12_345_678n })
    const response = await app.topUp({ [name]: encodeHeader(envelope(baseRequirement(), payload)) })
    const body = await response.json()
    expect(body).toEqual({
      success: true,
      data: {
        walletAddress: payer.address.toLowerCase(),
        amountCredited: 12.345678,
        newBalance: 12.345678,
        paymentId: expect.any(String),
      },
    })
    expect(decodeHeader(response.headers.get('payment-response'))).toMatchObject({
      success: true,
      network: 'eip155:8453',
      payer: payer.address.toLowerCase(),
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
    })
    expect((await app.base.balanceOf(MERCHANT_ADDRESS)) - before).toBe(12_345_678n)
    const again = await app.topUp({ ...paymentHeader(baseRequirement(), payload) })
    expect(await again.json()).toEqual(body)
  })
})
