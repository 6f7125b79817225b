import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startBaseChain } from '../support/base-chain.ts'
import { decodeHeader, encodeHeader, PAYMENT_SHAPES } from '../support/payment-headers.ts'
import { type PaymentsApp, type PaymentsAppOptions, startPaymentsApp } from '../support/payments-harness.ts'
import { createSolanaPayer, SOLANA_MERCHANT_ADDRESS, startSolanaChain } from '../support/solana-chain.ts'
import {
  type SolanaPayload,
  type SolanaPaymentOptions,
  signSolanaPayment,
  solanaRequirement,
} from '../support/solana-payments.ts'
import { startStockFacilitator } from '../support/stock-facilitator.ts'

const OPTIONS = {
  base: null,
  x402: { answerSeconds: 120 },
  file: { limits: { wallet: { topUpsPerMinutePerIp: 10_000 } } },
} satisfies PaymentsAppOptions
/** For payments that are not to end before their answer. */
const IMPATIENT = { ...OPTIONS, x402: { answerSeconds: 1 } } satisfies PaymentsAppOptions

interface TopUpAnswer {
  success: boolean
  status?: string
  code?: string
  transaction?: string
  data?: { walletAddress: string; amountCredited: number; newBalance: number }
}

let app: PaymentsApp
const header = (payload: SolanaPayload): string => encodeHeader(PAYMENT_SHAPES.v2(solanaRequirement(), payload))

async function topUp(payment: string, url = app.server.url) {
  const headers = { 'PAYMENT-SIGNATURE': payment }
  const response = await fetch(`${url}/api/v1/x402/top-up`, { method: 'POST', headers })
  return { status: response.status, body: (await response.json()) as TopUpAnswer, headers: response.headers }
}

async function pay(options: SolanaPaymentOptions = {}): Promise<string> {
  return header(await signSolanaPayment(app.solana, await createSolanaPayer(app.solana), options))
}

/** One transaction, with anything in the place of the signature that the facilitator will give. */
function spellings({ transaction }: SolanaPayload): string[] {
  return Array.from({ length: 10 }, (_, index) => {
    const bytes = Buffer.from(transaction, 'base64')
    bytes.fill(index, 1, 65)
    const spelled = { transaction: bytes.toString('base64') }
    return Object.values(PAYMENT_SHAPES).map((shape) => encodeHeader(shape(solanaRequirement(), spelled)))
  }).flat()
}

async function expectBooksEqual(amountAtomic: bigint): Promise<void> {
  const { counts } = await app.server.app.services.payments.operations.status()
  const credited = counts.find(({ state }) => state === 'credited')?.amountAtomic ?? 0n
  expect(await app.solana.balanceOf(SOLANA_MERCHANT_ADDRESS)).toBe(amountAtomic)
  expect(credited).toBe(amountAtomic)
  await app.server.assertLedgerClean()
}

/** Reconciles until the payment has another answer than that it is pending. */
async function endOf(payment: string): Promise<Awaited<ReturnType<typeof topUp>>> {
  let answer = await topUp(payment)
  await expect
    .poll(async () => {
      await app.server.app.services.payments.operations.reconcile()
      answer = await topUp(payment)
      return answer.status
    })
    .not.toBe(202)
  return answer
}

describe('payments on Solana', () => {
  beforeEach(async () => {
    app = await startPaymentsApp(OPTIONS)
  })
  afterEach(() => app.close())

  it('credits 60 parallel copies and spellings of one payment once, over two processes with one response', async () => {
    await using stack = new AsyncDisposableStack()
    const twin = await app.server.startTwin()
    stack.defer(() => twin.close())
    const payer = await createSolanaPayer(app.solana, 500_000_000n)
    const headers = spellings(await signSolanaPayment(app.solana, payer))
    const sent = headers.flatMap((one) => [topUp(one), topUp(one, twin.url)])
    const answers = await Promise.all(sent)
    expect(new Set(answers.map(({ status, body }) => `${status} ${JSON.stringify(body)}`)).size).toBe(1)
    expect(answers[0]?.body.data).toMatchObject({ walletAddress: payer.address, amountCredited: 5, newBalance: 5 })
    expect(app.solana.ledger.history).toHaveLength(1)
    await expectBooksEqual(5_000_000n)
  })

  it('credits 20 distinct concurrent payments', async () => {
    const payments = await Promise.all(Array.from({ length: 20 }, () => pay()))
    const answers = await Promise.all(payments.map((payment) => topUp(payment)))
    expect(answers.map(({ status }) => status)).toEqual(payments.map(() => 200))
    await expectBooksEqual(100_000_000n)
  })

  it('adds up payments of one wallet to the base unit, within the bounds', async () => {
    const payer = await createSolanaPayer(app.solana, 30_000_000_000n)
    for (const value of [5_000_000n, 12_345_678n, 10_000_000_000n]) {
      expect((await topUp(header(await signSolanaPayment(app.solana, payer, { value })))).status).toBe(200)
    }
    for (const [value, code] of [
      [4_999_999n, 'AMOUNT_TOO_LOW'],
      [10_000_000_001n, 'AMOUNT_TOO_HIGH'],
    ] as const) {
      const refused = await topUp(header(await signSolanaPayment(app.solana, payer, { value })))
      expect(refused).toMatchObject({ status: 400, body: { code } })
    }
    await expectBooksEqual(10_017_345_678n)
  })

  it('stay pending while the chain is stalled, and are credited once when it continues', async () => {
    await app.close()
    app = await startPaymentsApp(IMPATIENT)
    const payment = await pay()
    app.solana.ledger.stopProcessing()
    for (const { status, body, headers } of await Promise.all([topUp(payment), topUp(payment)])) {
      expect(status).toBe(202)
      expect(body).toMatchObject({ success: false, status: 'pending', transaction: expect.any(String) })
      expect(headers.get('retry-after')).toMatch(/^\d+$/)
    }
    await expectBooksEqual(0n)
    app.solana.ledger.resumeProcessing()
    expect((await endOf(payment)).status).toBe(200)
    await expectBooksEqual(5_000_000n)
  })

  it('proves a payment dead that expired while the chain stood still, and credits nothing', async () => {
    await app.close()
    // The facilitator watches a sent transaction for 30 s.
    app = await startPaymentsApp({ ...IMPATIENT, overrides: { wait: (milliseconds) => sleep(milliseconds / 20) } })
    const payment = await pay()
    app.solana.ledger.stopProcessing()
    expect((await topUp(payment)).status).toBe(202)
    app.solana.ledger.expireBlockhash()
    app.solana.ledger.passBlocks(400n)
    app.solana.ledger.resumeProcessing()
    expect(await endOf(payment)).toMatchObject({ status: 402, body: { code: 'SETTLEMENT_FAILED' } })
    await expectBooksEqual(0n)
  })

  it('rejects a payment without funds, which passes once the payer has them', async () => {
    const payer = await createSolanaPayer(app.solana, 4_999_999n)
    const payment = header(await signSolanaPayment(app.solana, payer))
    expect(await topUp(payment)).toMatchObject({ status: 400, body: { code: 'PAYMENT_VERIFICATION_FAILED' } })
    await app.solana.fund(payer.address, 5_000_000n)
    expect((await topUp(payment)).status).toBe(200)
    await expectBooksEqual(5_000_000n)
  })

  it('runs one request for a payment that is sent with many: its transaction is public, and proves nothing twice', async () => {
    const payment = await pay({ value: 10_000_000n })
    const chat = (name: string, value: string) =>
      fetch(`${app.server.baseUrl}/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', [name]: value },
        body: JSON.stringify({ model: 'test-model', messages: [{ role: 'user', content: 'Hello' }] }),
      })
    const answers = await Promise.all(Array.from({ length: 10 }, () => chat('PAYMENT-SIGNATURE', payment)))
    const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b)
    expect(statuses).toEqual([200, ...Array.from({ length: 9 }, () => 409)])
    const paid = answers.find(({ status }) => status === 200)
    expect(decodeHeader(paid?.headers.get('payment-response') ?? null)).toMatchObject({ success: true })
    expect((await chat('X-PAYMENT', payment)).status).toBe(409)
    await expectBooksEqual(10_000_000n)
  })
})

describe('a remote facilitator on Solana', () => {
  const startRemote = async (stack: AsyncDisposableStack, options: PaymentsAppOptions = OPTIONS) => {
    const chains = { base: stack.use(await startBaseChain()), solana: stack.use(await startSolanaChain()) }
    const facilitator = stack.use(await startStockFacilitator(chains))
    const remote = { kind: 'remote', url: facilitator.url } as const
    app = stack.use(await startPaymentsApp({ ...options, chains, solana: { facilitator: remote } }))
    return facilitator
  }

  it('is asked for its fee payer, and settles', async () => {
    await using stack = new AsyncDisposableStack()
    await startRemote(stack)
    expect((await topUp(await pay())).status).toBe(200)
    await expectBooksEqual(5_000_000n)
  })

  it('a facilitator that lies about success earns no credit, and the payment dies when nobody can settle it any more', async () => {
    await using stack = new AsyncDisposableStack()
    const facilitator = await startRemote(stack, IMPATIENT)
    const other = await endOf(await pay())
    facilitator.conduct = 'lies-success'
    const { transaction } = decodeHeader(other.headers.get('payment-response')) as { transaction: string }
    facilitator.lie = transaction
    const payment = await pay()
    expect(await topUp(payment)).toMatchObject({ status: 202, body: { status: 'pending' } })
    app.solana.ledger.expireBlockhash()
    app.solana.ledger.passBlocks(400n)
    expect((await endOf(payment)).status).toBe(402)
    await expectBooksEqual(5_000_000n)
  })

  it.each(['lies-failure', 'breaks-off'] as const)(
    'costs the payer nothing if it %s after it has settled',
    async (conduct) => {
      await using stack = new AsyncDisposableStack()
      const facilitator = await startRemote(stack)
      facilitator.conduct = conduct
      expect((await topUp(await pay())).status).toBe(200)
      expect(facilitator.settlements).toBe(1)
      await expectBooksEqual(5_000_000n)
    },
  )
})
