import { describe, expect, test } from 'vitest'
import { systemClock } from '../../server/domain/clock.ts'
import { createTestDatabase, hasEngine, type TestDatabase } from '../support/database.ts'
import { createMoneyHarness } from '../support/money-harness.ts'
import { type NodeStage, startNodeProxy } from '../support/node-proxy.ts'
import { paymentHeader } from '../support/payment-headers.ts'
import { paymentsSection } from '../support/payments-harness.ts'
import { type ServerProcess, startServerProcess } from '../support/server-process.ts'
import {
  createSolanaPayer,
  SOLANA_MERCHANT_ADDRESS,
  type SolanaChain,
  startSolanaChain,
} from '../support/solana-chain.ts'
import { signSolanaPayment, solanaRequirement } from '../support/solana-payments.ts'

const PAYMENTS_PER_KILL = 3

type Moment = `${NodeStage} ${string}`
/** Where servers die, in turn: with the payment received, verified, settling before and after it is sent, and settled. */
const MOMENTS: readonly Moment[] = [
  'asked simulateTransaction',
  'answered simulateTransaction',
  'asked sendTransaction',
  'answered sendTransaction',
  'asked getSignatureStatuses',
  'answered getSignatureStatuses',
  'asked getTransaction',
  'answered getTransaction',
  'relayed getTransaction',
]

/** Each kill has a server started, which a busy machine takes seconds for. */
const KILL_TIMEOUT_MS = 15_000

interface Kill {
  database: TestDatabase
  sent: readonly Sent[]
}

interface Sent {
  headers: Record<string, string>
  value: bigint
}

async function sign(chain: SolanaChain, index: number): Promise<Sent> {
  const value = 5_000_000n + BigInt(index)
  const payload = await signSolanaPayment(chain, await createSolanaPayer(chain), { value })
  return { headers: paymentHeader(solanaRequirement(), payload), value }
}

async function topUp(server: ServerProcess, { headers }: Sent): Promise<{ status: number; body: unknown } | undefined> {
  try {
    const response = await fetch(`${server.url}/api/v1/x402/top-up`, { method: 'POST', headers })
    return { status: response.status, body: await response.json() }
  } catch {
    return undefined
  }
}

function startPaid(nodeUrl: string, database: TestDatabase): Promise<ServerProcess> {
  const chains = { base: { url: nodeUrl }, solana: { url: nodeUrl } } as Parameters<typeof paymentsSection>[0]
  const config = {
    x402: paymentsSection(chains, { base: null }),
    rpc: { publicNodes: false },
    limits: { wallet: { topUpsPerMinutePerIp: 10_000 } },
  }
  return startServerProcess({ databaseUrl: database.url ?? '', config })
}

/** Starts a server, sends it the payments, and kills it at the moment. */
async function killAt(
  moment: Moment,
  chain: SolanaChain,
  { database, sent }: { database: TestDatabase; sent: Sent[] },
) {
  await using proxy = await startNodeProxy(chain.url)
  await using server = await startPaid(proxy.url, database)
  let reached = false
  proxy.onStage = (stage, method) => {
    if (moment !== `${stage} ${method}`) return
    reached = true
    return server.kill()
  }
  await Promise.all(sent.map((payment) => topUp(server, payment)))
  expect([moment, reached]).toEqual([moment, true])
}

/** Lets the node have one of two payments, and kills the server before it hears so and before it sends the other. */
async function killBetweenSends(chain: SolanaChain, { database, sent }: Kill): Promise<void> {
  await using proxy = await startNodeProxy(chain.url)
  await using server = await startPaid(proxy.url, database)
  const both = Promise.withResolvers<void>()
  let asked = 0
  proxy.onStage = async (stage, method) => {
    if (method !== 'sendTransaction') return
    if (stage === 'answered') await both.promise.then(() => server.kill())
    if (stage !== 'asked') return
    asked++
    if (asked < 2) return
    both.resolve()
    await server.exited
    throw new Error('the node never hears of the second')
  }
  await Promise.all(sent.map((payment) => topUp(server, payment)))
}

async function endOf(server: ServerProcess, payment: Sent): Promise<{ status: number; body: unknown } | undefined> {
  let answer = await topUp(server, payment)
  await expect.poll(async () => (answer = await topUp(server, payment))?.status, { interval: 500 }).not.toBe(202)
  return answer
}

async function expectBooksEqual(chain: SolanaChain, database: TestDatabase, paid: readonly Sent[]): Promise<void> {
  const total = paid.reduce((sum, { value }) => sum + value, 0n)
  expect(await chain.balanceOf(SOLANA_MERCHANT_ADDRESS)).toBe(total)
  const posted = await database.db
    .selectFrom('ledger_transfers')
    .select(({ fn }) => [fn.sum<string>('amount_nano').as('amount'), fn.countAll<bigint>().as('transfers')])
    .where('kind', '=', 'top_up')
    .executeTakeFirstOrThrow()
  expect([BigInt(posted.amount), posted.transfers]).toEqual([total * 1_000n, BigInt(paid.length)])
  const { checks } = await createMoneyHarness(database.db, systemClock).ledger.verify()
  expect(checks.filter(({ ok }) => !ok)).toEqual([])
}

describe.runIf(hasEngine('postgres'))('servers that are killed while wallets pay on Solana', () => {
  test('credit each payment once at whatever call they died', {
    timeout: MOMENTS.length * KILL_TIMEOUT_MS,
  }, async () => {
    await using chain = await startSolanaChain()
    await using database = await createTestDatabase('postgres')
    const payments: Sent[] = []
    for (const moment of MOMENTS) {
      const first = payments.length
      for (let one = 0; one < PAYMENTS_PER_KILL; one++) payments.push(await sign(chain, first + one))
      await killAt(moment, chain, { database, sent: payments.slice(first) })
    }
    await using server = await startPaid(chain.url, database)
    const ends = await Promise.all(payments.map((payment) => endOf(server, payment)))
    expect(ends.map((answer) => answer?.status)).toEqual(payments.map(() => 200))
    await expectBooksEqual(chain, database, payments)
  })

  test('credit exactly the payments sent before an outage', async () => {
    await using chain = await startSolanaChain()
    await using database = await createTestDatabase('postgres')
    const payments = [await sign(chain, 0), await sign(chain, 1)]
    await killBetweenSends(chain, { database, sent: payments })
    expect(chain.ledger.history).toHaveLength(1)
    chain.ledger.expireBlockhash()
    chain.ledger.passBlocks(400n)
    await using server = await startPaid(chain.url, database)
    const ends = await Promise.all(payments.map((payment) => endOf(server, payment)))
    expect(new Set(ends.map((answer) => answer?.status))).toEqual(new Set([200, 402]))
    await expectBooksEqual(
      chain,
      database,
      payments.filter((_, index) => ends[index]?.status === 200),
    )
  })
})
