import type { LocalAccount } from 'viem'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../server/domain/clock.ts'
import { type BaseChain, FACILITATOR_KEY, MERCHANT_ADDRESS, startBaseChain } from '../support/base-chain.ts'
import {
  baseRequirement,
  cancelAuthorization,
  createFundedPayer,
  type EvmPayload,
  frontRun,
  signAuthorization,
} from '../support/base-payments.ts'
import { createTestDatabase, hasEngine, type TestDatabase } from '../support/database.ts'
import { type FacilitatorServer, startFacilitatorServer } from '../support/facilitator-server.ts'
import { createMoneyHarness } from '../support/money-harness.ts'
import { type NodeProxy, type NodeStage, startNodeProxy } from '../support/node-proxy.ts'
import { paymentHeader } from '../support/payment-headers.ts'
import { TEST_BASE } from '../support/payments-harness.ts'
import { type ServerProcess, startServerProcess } from '../support/server-process.ts'
import { IS_SOAK, repeats } from '../support/soak.ts'

const PAYMENTS_PER_KILL = 3
const SURVIVORS = 3
const HOUR_SECONDS = 3_600

interface Moment {
  facilitator: 'local' | 'remote'
  at: `${NodeStage} ${string}`
}

/** Where servers die, in turn, with a facilitator elsewhere. */
const REMOTE_MOMENTS: readonly Moment[] = [
  { facilitator: 'remote', at: 'asked settle' },
  { facilitator: 'remote', at: 'answered settle' },
  { facilitator: 'remote', at: 'asked eth_getTransactionReceipt' },
  { facilitator: 'remote', at: 'answered eth_getTransactionReceipt' },
  { facilitator: 'remote', at: 'asked eth_getCode' },
]

/** With their own key, as servers without rivals die elsewhere. */
const LOCAL_MOMENTS: readonly Moment[] = [
  { facilitator: 'local', at: 'asked eth_getCode' },
  { facilitator: 'local', at: 'asked eth_sendRawTransaction' },
  { facilitator: 'local', at: 'answered eth_sendRawTransaction' },
  { facilitator: 'local', at: 'asked eth_estimateGas' },
  { facilitator: 'local', at: 'relayed eth_getTransactionReceipt' },
]

const MOMENTS = IS_SOAK ? [...REMOTE_MOMENTS, ...LOCAL_MOMENTS] : REMOTE_MOMENTS
const KILLS = repeats(1, { soak: 3 }) * MOMENTS.length
/** Each kill has a server started, which a busy machine takes seconds for. */
const KILL_TIMEOUT_MS = 15_000

interface Sent {
  payer: LocalAccount
  payload: EvmPayload
  value: bigint
}

interface Process extends AsyncDisposable {
  server: ServerProcess
  node: NodeProxy
  facilitator: FacilitatorServer
}

async function sign(chain: BaseChain, index: number): Promise<Sent> {
  const value = 5_000_000n + BigInt(index)
  const validBefore = BigInt(Math.floor(Date.now() / 1_000) + HOUR_SECONDS)
  const payer = await createFundedPayer(chain)
  return { payer, payload: await signAuthorization(payer, { value, validBefore }), value }
}

/** A facilitator elsewhere that goes on settling when the server that asked it is dead. */
async function startFacilitator(chain: BaseChain, node: NodeProxy): Promise<FacilitatorServer> {
  const facilitator = await startFacilitatorServer()
  facilitator.answer = async (payload) => {
    await node.onStage('asked', 'settle')
    const transaction = await frontRun(chain, payload).catch(() => '')
    await node.onStage('answered', 'settle')
    const network = 'eip155:8453'
    if (transaction === '') return { success: false, errorReason: 'invalid_transaction_state', transaction, network }
    return { success: true, transaction, network }
  }
  return facilitator
}

async function start(chain: BaseChain, database: TestDatabase, kind: 'local' | 'remote'): Promise<Process> {
  const node = await startNodeProxy(chain.url)
  const facilitator = await startFacilitator(chain, node)
  const chosen =
    kind === 'local' ? { kind: 'local', privateKey: FACILITATOR_KEY } : { kind: 'remote', url: facilitator.url }
  const config = {
    x402: { base: { ...TEST_BASE, payTo: MERCHANT_ADDRESS, rpcUrl: node.url, facilitator: chosen } },
    rpc: { publicNodes: false },
    limits: { wallet: { topUpsPerMinutePerIp: 100_000 } },
  }
  const server = await startServerProcess({ databaseUrl: database.url ?? '', config })
  const dispose = async (): Promise<void> => {
    await server.kill()
    await facilitator[Symbol.asyncDispose]()
    await node[Symbol.asyncDispose]()
  }
  return { server, node, facilitator, [Symbol.asyncDispose]: dispose }
}

async function topUp({ server }: Process, { payload }: Sent): Promise<number> {
  try {
    const headers = paymentHeader(baseRequirement(), payload)
    return (await fetch(`${server.url}/api/v1/x402/top-up`, { method: 'POST', headers })).status
  } catch {
    return 0
  }
}

/** Sends the payments to the victim, which dies at the moment; says whether it came to that. */
async function killAt(at: string, victim: Process, sent: readonly Sent[]): Promise<boolean> {
  const { server, node } = victim
  let reached = false
  node.onStage = (stage, method) => {
    if (at !== `${stage} ${method}`) return
    reached = true
    return server.kill()
  }
  const answers = sent.map((payment) => topUp(victim, payment))
  await Promise.race([server.exited, Promise.all(answers)])
  await server.kill()
  await Promise.all(answers)
  return reached
}

/** What others do with public signatures, and payers with their own, while no server looks. */
async function rival(chain: BaseChain, { payer, payload }: Sent, index: number): Promise<void> {
  if (index % 3 === 0) await frontRun(chain, payload).catch(() => '')
  if (index % 3 === 1) await cancelAuthorization(chain, payer, payload.authorization.nonce).catch(() => {})
}

describe.runIf(hasEngine('postgres'))(
  'servers that are killed while others settle and cancel the same payments',
  () => {
    test('leave processes that race each other to the same end: each transfer is credited once', {
      timeout: (KILLS + SURVIVORS) * KILL_TIMEOUT_MS,
    }, async () => {
      await using chain = await startBaseChain()
      await using database = await createTestDatabase('postgres')
      await using opened = new AsyncDisposableStack()
      const survivors = await Promise.all(
        Array.from({ length: SURVIVORS }, (_, index) => start(chain, database, index === 1 ? 'remote' : 'local')),
      )
      for (const survivor of survivors) opened.use(survivor)
      const payments = await Promise.all(
        Array.from({ length: KILLS * PAYMENTS_PER_KILL }, (_, index) => sign(chain, index)),
      )
      const momentOf = (kill: number) => MOMENTS[kill % MOMENTS.length] ?? { facilitator: 'local', at: 'asked settle' }
      const prepare = async (kill: number) => opened.use(await start(chain, database, momentOf(kill).facilitator))
      let next = prepare(0)
      for (let kill = 0; kill < KILLS; kill++) {
        const victim = await next
        if (kill + 1 < KILLS) next = prepare(kill + 1)
        const first = kill * PAYMENTS_PER_KILL
        const sent = payments.slice(first, first + PAYMENTS_PER_KILL)
        const { at } = momentOf(kill)
        expect([at, await killAt(at, victim, sent)]).toEqual([at, true])
        await Promise.all(sent.map((payment, index) => rival(chain, payment, kill + index)))
      }

      // However the races ended, one payment is cancelled before any server sees it.
      const cancelled = await sign(chain, payments.length)
      await cancelAuthorization(chain, cancelled.payer, cancelled.payload.authorization.nonce)
      payments.push(cancelled)

      // Every client asks one process after another until it hears how its payment ended.
      const ends = await Promise.all(
        payments.map(async (payment, index) => {
          let status = 0
          let asked = index
          const again = async () => {
            const survivor = survivors[asked++ % SURVIVORS]
            status = survivor === undefined ? 0 : await topUp(survivor, payment)
            return status
          }
          await expect.poll(again, { interval: 500 }).toSatisfy((end) => end === 200 || end === 402)
          return { status, value: payment.value }
        }),
      )
      const paid = ends.filter(({ status }) => status === 200)
      const total = paid.reduce((sum, { value }) => sum + value, 0n)
      // Both ends were met, or this has tested nothing.
      expect(paid.length).toBeGreaterThan(KILLS)
      expect(ends.length - paid.length).toBeGreaterThan(0)
      expect(await chain.balanceOf(MERCHANT_ADDRESS)).toBe(total)
      const posted = await database.db
        .selectFrom('ledger_transfers')
        .select(({ fn }) => [fn.sum<string>('amount_nano').as('amount'), fn.countAll<bigint>().as('transfers')])
        .where('kind', '=', 'top_up')
        .executeTakeFirstOrThrow()
      expect([BigInt(posted.amount), posted.transfers]).toEqual([total * 1_000n, BigInt(paid.length)])
      const { checks } = await createMoneyHarness(database.db, systemClock).ledger.verify()
      expect(checks.filter(({ ok }) => !ok)).toEqual([])
    })
  },
)
