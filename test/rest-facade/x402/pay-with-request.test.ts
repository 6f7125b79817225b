import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { baseRequirement, createFundedPayer, frontRun, signAuthorization } from '../../support/base-payments.ts'
import { decodeHeader, paymentHeader } from '../../support/payment-headers.ts'
import { type PaymentsApp, startPaymentsApp } from '../../support/payments-harness.ts'

const BODY = JSON.stringify({ model: 'test-model', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 16 })

let app: PaymentsApp
beforeAll(async () => {
  app = await startPaymentsApp({ solana: null, x402: { answerSeconds: 120 } })
})
afterAll(async () => {
  await app.server.assertLedgerClean()
  await app.close()
})

const chat = (headers: Record<string, string>, { body = BODY, at = app } = {}) =>
  fetch(`${at.server.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body,
  })
const codeOf = async (response: Response) => ((await response.json()) as { code: string }).code

describe('a payment that comes with an inference request', () => {
  it('tops up the wallet that signed it and runs the request as that wallet', async () => {
    const payer = await createFundedPayer(app.base)
    const headers = paymentHeader(baseRequirement('10000000'), await signAuthorization(payer, { value: 10_000_000n }))
    const response = await chat(headers)
    expect(response.status).toBe(200)
    expect(decodeHeader(response.headers.get('payment-response'))).toMatchObject({
      success: true,
      payer: payer.address.toLowerCase(),
    })
    const remaining = Number(response.headers.get('x-balance-remaining'))
    expect(remaining).toBeLessThan(10)
    expect(remaining).toBeGreaterThan(9.99)
    const topUp = (await (await app.topUp(headers)).json()) as { data: { newBalance: number } }
    expect(topUp.data.newBalance).toBe(10)
  })

  it('runs one request and no other: a signature is public once it is on the chain', async () => {
    const headers = paymentHeader(baseRequirement(), await signAuthorization(await createFundedPayer(app.base)))
    const answers = await Promise.all([chat(headers), chat(headers), chat(headers)])
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409, 409])
    const again = await chat(headers)
    expect([again.status, await codeOf(again)]).toEqual([409, 'PAYMENT_ALREADY_USED'])
  })

  it('runs nothing when the payment was on the chain before, and credits the wallet all the same', async () => {
    const payload = await signAuthorization(await createFundedPayer(app.base))
    await frontRun(app.base, payload)
    const headers = paymentHeader(baseRequirement(), payload)
    const requests = app.server.provider.requests.length
    const response = await chat(headers)
    expect([response.status, await codeOf(response)]).toEqual([409, 'PAYMENT_ALREADY_USED'])
    expect(app.server.provider.requests.length).toBe(requests)
    expect((await app.topUp(headers)).status).toBe(200)
  })

  it('leaves the credit, and says so, when the request itself is rejected', async () => {
    const headers = paymentHeader(baseRequirement(), await signAuthorization(await createFundedPayer(app.base)))
    const response = await chat(headers, { body: '{"model":' })
    expect(response.status).toBe(400)
    expect(decodeHeader(response.headers.get('payment-response'))).toMatchObject({ success: true })
    expect((await app.topUp(headers)).status).toBe(200)
  })

  it('does not run the request while nobody knows whether it settled', async () => {
    await using impatient = await startPaymentsApp({ solana: null, x402: { answerSeconds: 1 } })
    const headers = paymentHeader(baseRequirement(), await signAuthorization(await createFundedPayer(impatient.base)))
    await impatient.base.stopMining()
    const response = await chat(headers, { at: impatient })
    expect(response.status).toBe(202)
    expect(await response.json()).toMatchObject({ success: false, status: 'pending' })
    await impatient.base.resumeMining()
    await expect.poll(async () => (await impatient.topUp(headers)).status).toBe(200)
    expect(impatient.server.provider.requests).toEqual([])
  })

  it('is rejected unsettled where the operator wants none', async () => {
    await using other = await startPaymentsApp({ solana: null, x402: { payPerRequest: false } })
    const headers = {
      ...paymentHeader(baseRequirement(), await signAuthorization(await createFundedPayer(other.base))),
    }
    const response = await chat(headers, { at: other })
    expect([response.status, await codeOf(response)]).toEqual([400, 'PAYMENT_HEADER_NOT_ACCEPTED'])
  })
})
