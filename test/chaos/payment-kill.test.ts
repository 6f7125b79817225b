import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Kysely, sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import type { Database } from '../../server/db/schema.ts'
import { systemClock } from '../../server/domain/clock.ts'
import {
  type BaseChain,
  FACILITATOR_KEY,
  MERCHANT_ADDRESS,
  startBaseChain,
  USDC_ADDRESS,
} from '../support/base-chain.ts'
import { baseRequirement, createFundedPayer, signAuthorization } from '../support/base-payments.ts'
import { createTestDatabase, hasEngine } from '../support/database.ts'
import { createMoneyHarness } from '../support/money-harness.ts'
import { type NodeProxy, type NodeStage, startNodeProxy } from '../support/node-proxy.ts'
import { paymentHeader } from '../support/payment-headers.ts'
import { TEST_BASE } from '../support/payments-harness.ts'
import { type ServerProcess, startServerProcess } from '../support/server-process.ts'
import { repeats } from '../support/soak.ts'
import { untilBlocked } from './balance-lock.ts'

const PAYMENTS_PER_KILL = 3
const HOUR_SECONDS = 3_600

/** Where servers die, in turn: with the payment received, verified, settling before and after it is sent, settled, credited. */
type Moment = `${NodeStage} ${string}` | 'crediting' | 'answered the client'
const MOMENTS: readonly Moment[] = [
  'asked eth_getCode',
  'asked eth_estimateGas',
  'asked eth_sendRawTransaction',
  'answered eth_sendRawTransaction',
  'asked eth_getTransactionReceipt',
  'relayed eth_getTransactionReceipt',
  'crediting',
  'answered the client',
]

const KILLS = repeats(1, { soak: 4 }) * MOMENTS.length
/** Each kill has a server started, which a busy machine takes seconds for. */
const KILL_TIMEOUT_MS = 15_000

interface Victim {
  server: ServerProcess
  proxy: NodeProxy
}

interface Sent {
  headers: Record<string, string>
  value: bigint
}

const baseSection = ({ url }: NodeProxy) => ({
  ...TEST_BASE,
  payTo: MERCHANT_ADDRESS,
  rpcUrl: url,
  facilitator: { kind: 'local', privateKey: FACILITATOR_KEY },
})

/** Keeps top-ups from being posted until it is told to let go. */
async function lockLedger(db: Kysely<Database>): Promise<() => Promise<void>> {
  const release = Promise.withResolvers<void>()
  const locked = Promise.withResolvers<void>()
  const transaction = db.transaction().execute(async (trx) => {
    await sql`lock table ledger_transfers in share mode`.execute(trx)
    locked.resolve()
    await release.promise
  })
  await locked.promise
  return () => {
    release.resolve()
    return transaction
  }
}

async function sign(chain: BaseChain, index: number): Promise<Sent> {
  const value = 5_000_000n + BigInt(index)
  const validBefore = BigInt(Math.floor(Date.now() / 1_000) + HOUR_SECONDS)
  const payload = await signAuthorization(await createFundedPayer(chain), { value, validBefore })
  return { headers: paymentHeader(baseRequirement(), payload), value }
}

async function topUp(server: ServerProcess, { headers }: Sent) {
  try {
    const response = await fetch(`${server.url}/api/v1/x402/top-up`, { method: 'POST', headers })
    return { status: response.status, body: (await response.json()) as { data?: { amountCredited: number } } }
  } catch {
    return undefined
  }
}

/** Whether a server asks about the token, as it does when it starts, and not about a payer. */
function isInspection(method: string, body = ''): boolean {
  return method === 'eth_getCode' && body.toLowerCase().includes(USDC_ADDRESS.toLowerCase())
}

/** Sends the payments to the victim, which dies at the moment. */
async function killAt(moment: Moment, { server, proxy }: Victim, payments: readonly Sent[]): Promise<void> {
  const kill = (): Promise<void> => server.kill()
  let reached = moment === 'answered the client'
  proxy.onStage = (stage, method, body) => {
    if (moment !== `${stage} ${method}` || isInspection(method, body)) return
    reached = true
    return kill()
  }
  const answers = payments.map((payment) => topUp(server, payment))
  if (moment === 'answered the client') await Promise.any(answers)
  else await Promise.race([server.exited, Promise.all(answers)])
  await kill()
  await Promise.all(answers)
  expect([moment, reached]).toEqual([moment, true])
}

/** Returns the states that the process left: its database may still finish the credit's one statement when the lock ends. */
async function killWhileCrediting(
  { server }: Victim,
  db: Kysely<Database>,
  payments: readonly Sent[],
): Promise<string[]> {
  const unlock = await lockLedger(db)
  const answers = payments.map((payment) => topUp(server, payment))
  await untilBlocked(db)
  await server.kill()
  const states = await statesOf(db)
  await unlock()
  await Promise.all(answers)
  return states
}

async function statesOf(db: Kysely<Database>): Promise<string[]> {
  const rows = await db.selectFrom('payments').select('state').distinct().execute()
  return rows.map(({ state }) => state)
}

describe.runIf(hasEngine('postgres'))('servers that are killed while wallets pay', () => {
  test('credit each settled payment once, and the chain holds what the ledger says', {
    timeout: KILLS * KILL_TIMEOUT_MS,
  }, async () => {
    await using chain = await startBaseChain()
    await using database = await createTestDatabase('postgres')
    await using opened = new AsyncDisposableStack()
    const start = async (): Promise<Victim> => {
      const proxy = opened.use(await startNodeProxy(chain.url))
      const config = {
        x402: { base: baseSection(proxy) },
        rpc: { publicNodes: false },
        limits: { wallet: { topUpsPerMinutePerIp: 10_000 } },
      }
      const server = opened.use(await startServerProcess({ databaseUrl: database.url ?? '', config }))
      return { server, proxy }
    }
    const payments = await Promise.all(
      Array.from({ length: KILLS * PAYMENTS_PER_KILL }, (_, index) => sign(chain, index)),
    )
    const seen = new Set<string>()
    let next = start()
    for (let kill = 0; kill < KILLS; kill++) {
      const victim = await next
      next = start()
      const moment = MOMENTS[kill % MOMENTS.length] ?? 'crediting'
      const sent = payments.slice(kill * PAYMENTS_PER_KILL, (kill + 1) * PAYMENTS_PER_KILL)
      const left = moment === 'crediting' ? await killWhileCrediting(victim, database.db, sent) : []
      if (moment !== 'crediting') await killAt(moment, victim, sent)
      for (const state of [...left, ...(await statesOf(database.db))]) seen.add(state)
    }

    const { server } = await next
    // The kills met payments in every state that a step outside begins from. Between `verified` and `settling` only the fee budget is read.
    expect([...seen]).toEqual(expect.arrayContaining(['received', 'settling', 'settled', 'credited']))

    // Every client sends its payment again until it hears how it ended.
    await Promise.all(
      payments.map(async (payment) => {
        const again = async () => (await topUp(server, payment))?.status
        await expect.poll(again, { interval: 500 }).toBe(200)
        const answer = await topUp(server, payment)
        expect(answer?.body.data?.amountCredited).toBe(Number(payment.value) / 1e6)
      }),
    )
    const total = payments.reduce((sum, { value }) => sum + value, 0n)
    expect(await chain.balanceOf(MERCHANT_ADDRESS)).toBe(total)
    const posted = await database.db
      .selectFrom('ledger_transfers')
      .select(({ fn }) => [fn.sum<string>('amount_nano').as('amount'), fn.countAll<bigint>().as('transfers')])
      .where('kind', '=', 'top_up')
      .executeTakeFirstOrThrow()
    expect([BigInt(posted.amount), posted.transfers]).toEqual([total * 1_000n, BigInt(payments.length)])
    const { checks } = await createMoneyHarness(database.db, systemClock).ledger.verify()
    expect(checks.filter(({ ok }) => !ok)).toEqual([])
    expect(await server.stop()).toBe(0)
  })
})

test('a killed server with the embedded database finishes, at its next start, what it had sent', async () => {
  await using chain = await startBaseChain()
  await using proxy = await startNodeProxy(chain.url)
  const dataDir = await mkdtemp(join(tmpdir(), 'sluice-payments-'))
  const options = { dataDir, config: { x402: { base: baseSection(proxy) }, rpc: { publicNodes: false } } }
  const payment = await sign(chain, 0)
  await using first = await startServerProcess(options)
  await killAt('answered eth_sendRawTransaction', { server: first, proxy }, [payment])
  expect(await chain.balanceOf(MERCHANT_ADDRESS)).toBe(payment.value)
  proxy.onStage = () => {}
  await using second = await startServerProcess(options)
  const again = async () => (await topUp(second, payment))?.status
  await expect.poll(again).toBe(200)
  expect(await chain.balanceOf(MERCHANT_ADDRESS)).toBe(payment.value)
  await second.kill()
  await rm(dataDir, { recursive: true, force: true })
})
