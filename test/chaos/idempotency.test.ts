import { describe, expect, test } from 'vitest'
import { createTestDatabase, hasEngine, type TestDatabase } from '../support/database.ts'
import { type ServerProcess, startServerProcess } from '../support/server-process.ts'
import { auditAccount } from './audit.ts'
import { lockBalance, untilBlocked } from './balance-lock.ts'
import { type ChaosUpstream, startChaosUpstream, type UpstreamStage, untilReached } from './upstream.ts'

const GRANT_NANO_USD = 10_000_000_000n
const PRICE_NANO_USD = 20n * 625n
const ANSWER = '{"jsonrpc":"2.0","id":1,"result":"0x10d4f"}'
const KEYS_PER_KILL = 16
const MOMENTS: readonly { stage: UpstreamStage; requests: number }[] = [
  { stage: 'received', requests: 1 },
  { stage: 'received', requests: KEYS_PER_KILL },
  { stage: 'answered', requests: 4 },
  { stage: 'answered', requests: KEYS_PER_KILL },
]

interface Sent {
  server: ServerProcess
  adminKey: string
  key: string
}

/** The answer's text, or null when the connection was lost. */
async function send({ server, adminKey, key }: Sent): Promise<string | null> {
  try {
    const response = await fetch(`${server.url}/api/v1/crypto/rpc/ethereum-mainnet`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminKey}`, 'idempotency-key': key },
      body: '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}',
    })
    return await response.text()
  } catch {
    return null
  }
}

/** A server on the database, on which every other one is dead: as 30 s after their last heartbeats. */
async function startNext(database: TestDatabase, upstream: ChaosUpstream): Promise<ServerProcess> {
  await database.db.deleteFrom('processes').execute()
  return startServerProcess({ databaseUrl: database.url ?? '', config: upstream.config })
}

/** What is wrong with an account that paid for so many requests. */
async function audit({ db }: TestDatabase, accountId: string, paid: number): Promise<string[]> {
  const faults = await auditAccount(db, { accountId, grantNanoUsd: GRANT_NANO_USD }, [])
  const charges = await db
    .selectFrom('usage_events')
    .select('charge_nano')
    .where('account_id', '=', accountId)
    .where('charge_nano', '=', PRICE_NANO_USD)
    .execute()
  return charges.length === paid ? faults : [...faults, `${charges.length} charges, and ${paid} were right`]
}

describe.runIf(hasEngine('postgres'))('requests under idempotency keys to a server that is killed', () => {
  test('are each charged once when they are sent again until they succeed', async () => {
    await using upstream = await startChaosUpstream()
    await using database = await createTestDatabase('postgres')
    let server = await startNext(database, upstream)
    const { accountId, adminKey } = await server.createAccount('10')
    let lost = 0
    for (const [round, { stage, requests }] of MOMENTS.entries()) {
      const keys = Array.from({ length: KEYS_PER_KILL }, (_, index) => `round-${round}-${index}`)
      const moment = untilReached(upstream, stage, requests)
      const dying = server
      const answers = Promise.all(keys.map((key) => send({ server: dying, adminKey, key })))
      await moment
      await dying.kill()
      lost += (await answers).filter((answer) => answer === null).length
      server = await startNext(database, upstream)
      const next = server
      const repeats = await Promise.all(keys.map((key) => send({ server: next, adminKey, key })))
      expect(new Set(repeats)).toEqual(new Set([ANSWER]))
    }
    await server.stop()
    expect(lost).toBeGreaterThan(0)
    expect(await audit(database, accountId, MOMENTS.length * KEYS_PER_KILL)).toEqual([])
  })

  test('between its response and its charge are charged once, and the node is not called again', async () => {
    await using upstream = await startChaosUpstream()
    await using database = await createTestDatabase('postgres')
    await using first = await startNext(database, upstream)
    const { accountId, adminKey } = await first.createAccount('10')
    const gate = Promise.withResolvers<void>()
    upstream.answerAfter = gate.promise
    const received = untilReached(upstream, 'received', 1)
    const lost = send({ server: first, adminKey, key: 'owed' })
    await received
    const unlock = await lockBalance(database.db, accountId)
    gate.resolve()
    await untilBlocked(database.db)
    await first.kill()
    expect(await lost).toBe(null)
    await using second = await startNext(database, upstream)
    // The dead server's settlement still waits in PostgreSQL; it and the one that makes up for it race from here.
    const repeat = send({ server: second, adminKey, key: 'owed' })
    await unlock()
    expect(await repeat).toBe(ANSWER)
    expect(upstream.received).toBe(1)
    expect(await audit(database, accountId, 1)).toEqual([])
  })
})
