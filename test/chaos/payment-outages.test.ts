import { describe, expect, inject, test } from 'vitest'
import { createPostgresDatabase } from '../../server/db/database.ts'
import { systemClock } from '../../server/domain/clock.ts'
import { type BaseChain, FACILITATOR_KEY, MERCHANT_ADDRESS, startBaseChain } from '../support/base-chain.ts'
import { baseRequirement, createFundedPayer, signAuthorization } from '../support/base-payments.ts'
import { createTestDatabase, hasEngine } from '../support/database.ts'
import { createMoneyHarness } from '../support/money-harness.ts'
import { startNodeProxy } from '../support/node-proxy.ts'
import { paymentHeader } from '../support/payment-headers.ts'
import { findPostgresBinaries, startPostgresProcess } from '../support/postgres-process.ts'
import { startRedisProcess } from '../support/redis-process.ts'
import { type ServerProcess, startServerProcess } from '../support/server-process.ts'
import { fieldHeader, SERVICE_ORIGIN, viemSigner } from '../support/wallet-signers.ts'

const HOUR_SECONDS = 3_600
const PAYMENTS_PER_STOP = 3
/** Where the database goes away, in turn: before a payment is verified, before and after it is sent, and when it shows. */
const MOMENTS = [
  'asked eth_getCode',
  'asked eth_sendRawTransaction',
  'answered eth_sendRawTransaction',
  'asked eth_getTransactionReceipt',
  'answered eth_getTransactionReceipt',
]

/** After each stop PostgreSQL recovers, and the payments of the stop wait for it. */
const STOP_TIMEOUT_MS = 30_000

const configOf = (nodeUrl: string) => ({
  service: { publicUrl: SERVICE_ORIGIN },
  x402: {
    base: { payTo: MERCHANT_ADDRESS, rpcUrl: nodeUrl, facilitator: { kind: 'local', privateKey: FACILITATOR_KEY } },
  },
  rpc: { publicNodes: false },
  limits: { wallet: { topUpsPerMinutePerIp: 10_000 } },
})

async function sign(chain: BaseChain): Promise<Record<string, string>> {
  const validBefore = BigInt(Math.floor(Date.now() / 1_000) + HOUR_SECONDS)
  return paymentHeader(baseRequirement(), await signAuthorization(await createFundedPayer(chain), { validBefore }))
}

async function topUp({ url }: ServerProcess, headers: Record<string, string>): Promise<number> {
  const response = await fetch(`${url}/api/v1/x402/top-up`, { method: 'POST', headers })
  await response.arrayBuffer()
  return response.status
}

const binaries = findPostgresBinaries()

describe.runIf(binaries !== undefined)('a PostgreSQL that stops while wallets pay', () => {
  test('loses no payment and doubles none, and no response says that one failed', {
    timeout: MOMENTS.length * STOP_TIMEOUT_MS,
  }, async () => {
    await using chain = await startBaseChain()
    await using node = await startNodeProxy(chain.url)
    await using postgres = await startPostgresProcess(binaries ?? '')
    await using server = await startServerProcess({ databaseUrl: postgres.url, config: configOf(node.url) })
    const payments: Record<string, string>[] = []
    const statuses = new Set<number>()
    for (const moment of MOMENTS) {
      const sent = await Promise.all(Array.from({ length: PAYMENTS_PER_STOP }, () => sign(chain)))
      payments.push(...sent)
      let stopped: Promise<void> | undefined
      node.onStage = (stage, method) => {
        if (moment !== `${stage} ${method}`) return
        stopped ??= postgres.stopImmediately()
        return stopped
      }
      const answers = sent.map((headers) => topUp(server, headers))
      await expect.poll(() => stopped !== undefined).toBe(true)
      await stopped
      node.onStage = () => {}
      await postgres.start()
      for (const status of await Promise.all(answers)) statuses.add(status)
      await expect.poll(async () => (await fetch(`${server.url}/health/ready`)).status).toBe(200)
    }
    expect([...statuses].filter((status) => ![200, 202, 503].includes(status))).toEqual([])

    for (const headers of payments) {
      await expect.poll(() => topUp(server, headers), { interval: 500 }).toBe(200)
    }
    const total = BigInt(payments.length) * 5_000_000n
    expect(await chain.balanceOf(MERCHANT_ADDRESS)).toBe(total)
    expect(await server.stop()).toBe(0)
    const database = createPostgresDatabase(postgres.url)
    const credited = await database.db
      .selectFrom('ledger_transfers')
      .select(({ fn }) => fn.sum<string>('amount_nano').as('amount'))
      .where('kind', '=', 'top_up')
      .executeTakeFirstOrThrow()
    expect(BigInt(credited.amount)).toBe(total * 1_000n)
    const { checks } = await createMoneyHarness(database.db, systemClock).ledger.verify()
    await database.close()
    expect(checks.filter(({ ok }) => !ok)).toEqual([])
  })
})

describe.runIf(hasEngine('postgres') && inject('redisUrl') !== null)('a Redis that is away', () => {
  test('stops no payment and no wallet from signing in, since the database keeps the nonces', async () => {
    await using chain = await startBaseChain()
    await using database = await createTestDatabase('postgres')
    await using redis = await startRedisProcess()
    if (redis === null) throw new Error('there is no redis-server on this machine, though a Redis answers')
    await using server = await startServerProcess({
      databaseUrl: database.url ?? '',
      redisUrl: redis.url,
      config: configOf(chain.url),
    })
    const signer = viemSigner()
    const readBalance = async () => {
      const headers = { 'sign-in-with-x': await fieldHeader(signer) }
      return (await fetch(`${server.url}/api/v1/x402/balance/${signer.address}`, { headers })).status
    }
    expect(await readBalance()).toBe(200)
    await redis.kill()
    expect([await topUp(server, await sign(chain)), await readBalance()]).toEqual([200, 200])
    await redis.restart()
    await expect.poll(readBalance).toBe(200)
  })
})
