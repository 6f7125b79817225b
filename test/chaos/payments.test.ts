import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { MERCHANT_ADDRESS } from '../support/base-chain.ts'
import {
  baseRequirement,
  createFundedPayer,
  type EvmPayload,
  frontRun,
  signAuthorization,
  transferCall,
} from '../support/base-payments.ts'
import { startFacilitatorServer } from '../support/facilitator-server.ts'
import {
  decodeHeader,
  encodeHeader,
  PAYMENT_SHAPES,
  paymentHeader,
  textualVariants,
} from '../support/payment-headers.ts'
import { type PaymentsApp, startPaymentsApp } from '../support/payments-harness.ts'

const OPTIONS = {
  solana: null,
  x402: { answerSeconds: 120 },
  file: { limits: { wallet: { topUpsPerMinutePerIp: 10_000 } } },
} as const
/** For payments that are not to end before their answer. */
const IMPATIENT = { ...OPTIONS, x402: { answerSeconds: 1 } } as const

interface TopUpAnswer {
  success: boolean
  status?: string
  code?: string
  data?: { walletAddress: string; amountCredited: number; newBalance: number; paymentId: string }
}

let app: PaymentsApp
const topUp = async (header: string | EvmPayload) => {
  const value = typeof header === 'string' ? header : encodeHeader(PAYMENT_SHAPES.v2(baseRequirement(), header))
  const response = await app.topUp({ 'PAYMENT-SIGNATURE': value })
  return { status: response.status, body: (await response.json()) as TopUpAnswer, headers: response.headers }
}
const operations = () => app.server.app.services.payments.operations

/** What wallets were credited, in base units. */
async function creditedAtomic(): Promise<bigint> {
  const { counts } = await operations().status()
  return counts.find(({ state }) => state === 'credited')?.amountAtomic ?? 0n
}

async function expectBooksEqual(amountAtomic: bigint): Promise<void> {
  expect(await app.base.balanceOf(MERCHANT_ADDRESS)).toBe(amountAtomic)
  expect(await creditedAtomic()).toBe(amountAtomic)
  await app.server.assertLedgerClean()
}

describe('payments on Base', () => {
  beforeEach(async () => {
    app = await startPaymentsApp(OPTIONS)
  })
  afterEach(() => app.close())

  it('credits 50 parallel copies and spellings of one payment once', async () => {
    const payload = await signAuthorization(await createFundedPayer(app.base, 500_000_000n))
    const spellings = textualVariants(baseRequirement(), payload)
    const headers = Array.from({ length: 50 }, (_, index) => spellings[index % spellings.length] ?? '')
    const answers = await Promise.all(headers.map((header) => topUp(header)))
    const credited = answers.filter(({ status }) => status === 200)
    expect(credited.length).toBeGreaterThan(20)
    expect(new Set(credited.map(({ body }) => JSON.stringify(body))).size).toBe(1)
    // The other spellings are no numbers of this protocol.
    expect(answers.filter(({ status }) => status !== 200).every(({ status }) => status === 400)).toBe(true)
    await expectBooksEqual(5_000_000n)
  })

  it('credits it once for two processes, both of which give the first response', async () => {
    const twin = await app.server.startTwin()
    const payload = await signAuthorization(await createFundedPayer(app.base))
    const headers = paymentHeader(baseRequirement(), payload)
    const urls = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? app.server.url : twin.url))
    const answers = await Promise.all(
      urls.map(async (url) => (await fetch(`${url}/api/v1/x402/top-up`, { method: 'POST', headers })).text()),
    )
    expect(new Set(answers).size).toBe(1)
    expect(answers[0]).toContain('"success":true')
    await twin.close()
    await expectBooksEqual(5_000_000n)
  })

  it('credits 20 distinct concurrent payments', async () => {
    const payers = await Promise.all(Array.from({ length: 20 }, () => createFundedPayer(app.base)))
    const payloads = await Promise.all(payers.map((payer) => signAuthorization(payer)))
    const answers = await Promise.all(payloads.map((payload) => topUp(payload)))
    expect(answers.map(({ status }) => status)).toEqual(payloads.map(() => 200))
    await expectBooksEqual(100_000_000n)
  })

  it('adds up payments of one wallet to the base unit, up to the maximum', async () => {
    const payer = await createFundedPayer(app.base, 20_000_000_000n)
    for (const value of [5_000_000n, 12_345_678n, 10_000_000_000n]) {
      expect((await topUp(await signAuthorization(payer, { value }))).status).toBe(200)
    }
    await expectBooksEqual(10_017_345_678n)
  })

  it('credits the payer if another party submitted the payment to the chain', async () => {
    const payload = await signAuthorization(await createFundedPayer(app.base))
    const transaction = await frontRun(app.base, payload)
    const { status, headers } = await topUp(payload)
    expect(status).toBe(200)
    expect(decodeHeader(headers.get('payment-response'))).toMatchObject({ transaction })
    await expectBooksEqual(5_000_000n)
  })

  it('credits nothing twice if the chain reverts a credited transfer and another party submits it again', async () => {
    const payload = await signAuthorization(await createFundedPayer(app.base))
    const before = await app.base.client.snapshot()
    const first = await topUp(payload)
    expect(first.status).toBe(200)
    await app.base.client.revert({ id: before })
    expect(await app.base.balanceOf(MERCHANT_ADDRESS)).toBe(0n)
    expect((await topUp(payload)).body).toEqual(first.body)
    await frontRun(app.base, payload)
    await operations().reconcile()
    expect((await topUp(payload)).body).toEqual(first.body)
    await expectBooksEqual(5_000_000n)
  })

  it('does not credit a transfer that used the nonce for another amount', async () => {
    const payer = await createFundedPayer(app.base)
    const used = await signAuthorization(payer, { value: 6_000_000n })
    await frontRun(app.base, used)
    const other = await signAuthorization(payer, { value: 9_000_000n, nonce: used.authorization.nonce })
    expect(await topUp(other)).toMatchObject({ status: 402, body: { code: 'SETTLEMENT_FAILED' } })
    expect(await creditedAtomic()).toBe(0n)
  })
})

describe('a payment on a stalled chain', () => {
  afterEach(() => app.close())

  it('gets a pending response, and is credited once when the chain continues', async () => {
    app = await startPaymentsApp(IMPATIENT)
    const payload = await signAuthorization(await createFundedPayer(app.base))
    await app.base.stopMining()
    const waiting = await Promise.all([topUp(payload), topUp(payload)])
    for (const { status, body, headers } of waiting) {
      expect(status).toBe(202)
      expect(body).toMatchObject({ success: false, status: 'pending', transaction: expect.stringMatching(/^0x/) })
      expect(headers.get('retry-after')).toMatch(/^\d+$/)
    }
    expect(await creditedAtomic()).toBe(0n)
    await app.base.resumeMining()
    await expect.poll(async () => (await topUp(payload)).status).toBe(200)
    await expectBooksEqual(5_000_000n)
  })
})

describe('an Idempotency-Key', () => {
  afterEach(() => app.close())

  it('keeps a client that signs anew after a lost response from paying twice', async () => {
    app = await startPaymentsApp(OPTIONS)
    const payer = await createFundedPayer(app.base)
    const pay = async (key: string) => {
      const headers = paymentHeader(baseRequirement(), await signAuthorization(payer))
      const response = await app.topUp({ ...headers, 'Idempotency-Key': key })
      return { status: response.status, body: await response.text() }
    }
    const answers = await Promise.all([pay('order-1'), pay('order-1'), pay('order-1')])
    expect(new Set(answers.map(({ body }) => body)).size).toBe(1)
    expect(await pay('order-1')).toEqual(answers[0])
    expect((await pay('order-2')).body).not.toBe(answers[0]?.body)
    expect((await pay('no key!')).status).toBe(400)
    await expectBooksEqual(10_000_000n)
  })

  it('a key that came with a failed payment can be used for the next payment', async () => {
    app = await startPaymentsApp(OPTIONS)
    const payer = await createFundedPayer(app.base, 1n)
    const pay = async () => {
      const headers = paymentHeader(baseRequirement(), await signAuthorization(payer))
      return (await app.topUp({ ...headers, 'Idempotency-Key': 'order-1' })).status
    }
    expect(await pay()).toBe(400)
    await app.base.fund(payer.address, 20_000_000n)
    expect([await pay(), await pay()]).toEqual([200, 200])
    await expectBooksEqual(5_000_000n)
  })
})

describe('repeats of an ended payment', () => {
  afterEach(() => app.close())

  it('ask no node and count against no limit, which new payments meet', async () => {
    app = await startPaymentsApp({ ...OPTIONS, file: { limits: { wallet: { topUpsPerMinutePerIp: 1 } } } })
    const payload = await signAuthorization(await createFundedPayer(app.base))
    const first = await topUp(payload)
    expect(first.status).toBe(200)
    const other = await topUp(await signAuthorization(await createFundedPayer(app.base)))
    expect([other.status, other.headers.get('retry-after')]).toEqual([429, expect.stringMatching(/^\d+$/)])
    await app.base.close()
    for (let repeat = 0; repeat < 5; repeat++) expect((await topUp(payload)).body).toEqual(first.body)
  })
})

describe('a remote facilitator', () => {
  afterEach(() => app.close())

  it('a facilitator that lies about success earns no credit; a payment that it settles is credited', async () => {
    await using facilitator = await startFacilitatorServer()
    app = await startPaymentsApp({ ...IMPATIENT, base: { facilitator: { kind: 'remote', url: facilitator.url } } })
    const payload = await signAuthorization(await createFundedPayer(app.base))
    facilitator.answer = () => ({ success: true, transaction: `0x${'ab'.repeat(32)}`, network: 'eip155:8453' })
    expect(await topUp(payload)).toMatchObject({ status: 202, body: { status: 'pending' } })
    expect(await creditedAtomic()).toBe(0n)
    facilitator.answer = async () => {
      const transaction = await app.base.client.sendTransaction({
        to: baseRequirement().asset,
        data: transferCall(payload),
      })
      await app.base.client.waitForTransactionReceipt({ hash: transaction })
      return { success: true, transaction, network: 'eip155:8453' }
    }
    const settledAfter = async () => {
      await operations().reconcile()
      return (await topUp(payload)).status
    }
    await expect.poll(settledAfter).toBe(200)
    await expectBooksEqual(5_000_000n)
  })

  it('a facilitator that dies after sending leaves a payment that our node finds', async () => {
    await using facilitator = await startFacilitatorServer()
    app = await startPaymentsApp({ ...OPTIONS, base: { facilitator: { kind: 'remote', url: facilitator.url } } })
    const payload = await signAuthorization(await createFundedPayer(app.base))
    facilitator.answer = async () => {
      await frontRun(app.base, payload)
      return null
    }
    expect((await topUp(payload)).status).toBe(200)
    await expectBooksEqual(5_000_000n)
  })

  it('a rejection by a facilitator counts only as far as the chain agrees', async () => {
    await using facilitator = await startFacilitatorServer()
    app = await startPaymentsApp({ ...OPTIONS, base: { facilitator: { kind: 'remote', url: facilitator.url } } })
    const payload = await signAuthorization(await createFundedPayer(app.base))
    facilitator.answer = async () => {
      await frontRun(app.base, payload)
      return { success: false, errorReason: 'invalid_payload', transaction: '', network: 'eip155:8453' }
    }
    expect((await topUp(payload)).status).toBe(200)
    await expectBooksEqual(5_000_000n)
  })
})
