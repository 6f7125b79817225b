import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { KeyCaller } from '../../../../server/domain/caller.ts'
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts'
import { createFakeClock } from '../../../support/fake-clock.ts'
import { type ProcessOptions, startIdempotentProcess } from '../../../support/idempotency-harness.ts'
import { createMoneyHarness } from '../../../support/money-harness.ts'
import { trustProcessClock } from '../../../support/process-clock.ts'
import { type RpcNodeServer, startRpcNode } from '../../../support/rpc-node.ts'

const CALL = '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}'
const ANSWER = '{"jsonrpc":"2.0","id":1,"result":"0x10d4f"}'
const PRICE = 20n * 625n

const clock = createFakeClock()
let database: TestDatabase
let node: RpcNodeServer
let caller: KeyCaller
let key: string

beforeAll(async () => {
  database = await createTestDatabase()
  node = await startRpcNode()
})
afterAll(async () => {
  await node.close()
  await database.close()
})
beforeEach(async () => {
  node.calls.length = 0
  key = randomUUID()
  caller = await createMoneyHarness(database.db, clock).addCaller({ usdNano: PRICE })
})

const start = (options: Partial<ProcessOptions> = {}) =>
  startIdempotentProcess(caller, { db: database.db, clock, nodeUrl: node.url, ...options })

const stateOf = async () => {
  const row = await database.db
    .selectFrom('idempotency_records')
    .select(['state', 'process_id'])
    .where('key', '=', key)
    .executeTakeFirst()
  return row?.state
}
const chunkCount = async () => {
  const { rows } = await sql<{ count: bigint }>`select count(*) from idempotency_chunks where key = ${key}`.execute(
    database.db,
  )
  return rows[0]?.count
}

describe('a duplicate of a request that still runs', () => {
  test.each(['claimed', 'admitted', 'called'] as const)(
    'in another process waits as long as an upstream may take, then gets a time to retry (%s)',
    async (step) => {
      await using first = await start({ stopAfter: step })
      await using second = await start({ waitMsMax: 60 })
      const running = first.post(key, CALL)
      await first.reached
      const told = await second.post(key, CALL)
      expect([told.status, await told.json()]).toMatchObject([409, { code: 'CONFLICT' }])
      expect(told.headers.has('retry-after')).toBe(false)
      first.resume()
      expect((await running).headers.has('idempotent-replayed')).toBe(false)
      expect((await second.post(key, CALL)).headers.get('idempotent-replayed')).toBe('true')
    },
  )

  test('in the same process gets the same rejection', async () => {
    await using process = await start({ stopAfter: 'called', waitMsMax: 60 })
    const running = process.post(key, CALL)
    await process.reached
    expect((await process.post(key, CALL)).status).toBe(409)
    process.resume()
    expect((await running).status).toBe(200)
  })

  test('takes its place when it fails', async () => {
    await using process = await start({ stopAfter: 'claimed' })
    const running = process.post(key, CALL)
    await process.reached
    const duplicate = process.post(key, CALL)
    node.failNext({ kind: 'html' })
    process.resume()
    expect([(await running).status, (await duplicate).status, node.calls.length]).toEqual([500, 200, 2])
    expect((await duplicate).headers.has('idempotent-replayed')).toBe(false)
  })
})

describe('a response whose charge is owed by a dead process', () => {
  test('waits for a balance that covers it', async () => {
    await using first = await start({ stopAfter: 'answered' })
    await using second = await start()
    void first.post(key, CALL).catch(() => undefined)
    await first.reached
    await first.die()
    await second.money.sweeper.sweep(30)
    const other = await second.money.open(caller, 1n)
    expect([(await second.post(key, CALL)).status, await stateOf()]).toEqual([402, 'answered'])
    await other.release()
    const answer = await second.post(key, CALL)
    expect([answer.status, await answer.text(), await stateOf()]).toEqual([200, ANSWER, 'done'])
    expect(node.calls).toHaveLength(1)
  })

  test('is free for a repeat if it was already paid, even with an empty balance', async () => {
    await using first = await start({ stopAfter: 'settled' })
    await using second = await start()
    void first.post(key, CALL).catch(() => undefined)
    await first.reached
    await first.die()
    expect(await stateOf()).toBe('answered')
    const answer = await second.post(key, CALL)
    expect([answer.status, await answer.text(), answer.headers.get('x-service-balance-usd')]).toEqual([
      200,
      ANSWER,
      '0',
    ])
  })

  test('is charged on the day on which it was admitted', async () => {
    const night = createFakeClock('2026-03-01T23:59:59.000Z')
    await using first = await start({ stopAfter: 'answered', clock: night })
    await using second = await start({ clock: night })
    void first.post(key, CALL).catch(() => undefined)
    await first.reached
    await first.die()
    night.advance(60_000)
    expect((await second.post(key, CALL)).status).toBe(200)
    const days = database.db.selectFrom('usage_events').select('day').where('account_id', '=', caller.accountId)
    expect(await days.execute()).toEqual([{ day: '2026-03-01' }])
  })
})

describe('a response that is too large to keep', () => {
  test('reaches its client and is charged; a repeat is rejected for that reason and costs nothing', async () => {
    await using process = await start({ limits: { maxResponseBytes: 1_500_000 } })
    node.failNext({ kind: 'huge', bytes: 3_000_000 })
    const first = await process.post(key, CALL)
    expect((await first.arrayBuffer()).byteLength).toBe(3_000_036)
    const repeat = await process.post(key, CALL)
    expect([repeat.status, (await repeat.json()) as object]).toMatchObject([409, { error: /not stored/ }])
    expect([node.calls.length, await chunkCount()]).toEqual([1, 0n])
    const balances = await process.money.ledger.balances(caller.accountId)
    expect(balances[0]?.balanceNanoUsd).toBe(0n)
  })
})

describe('a database that wrote but did not say so', () => {
  test('leaves a claimed key free for others after the next maintenance', async () => {
    await using first = await start({ failOnce: 'insert' })
    await using second = await start()
    expect((await first.post(key, CALL)).status).toBe(500)
    expect(await stateOf()).toBe('in_progress')
    await first.idempotency.maintain()
    expect([(await second.post(key, CALL)).status, node.calls.length]).toEqual([200, 1])
  })

  test('leaves a stored response to the next repeat, which is charged for it', async () => {
    await using first = await start({ failOnce: 'answered' })
    await using second = await start()
    expect((await first.post(key, CALL)).status).toBe(500)
    expect((await first.money.ledger.balances(caller.accountId))[0]?.balanceNanoUsd).toBe(PRICE)
    expect(await (await second.post(key, CALL)).text()).toBe(ANSWER)
    expect((await first.money.ledger.balances(caller.accountId))[0]?.balanceNanoUsd).toBe(0n)
    expect(node.calls).toHaveLength(1)
  })
})

describe('maintenance', () => {
  test('records the end of a request whose record could not be written in time', async () => {
    await using process = await start({ failOnce: 'finish' })
    expect(await (await process.post(key, CALL)).text()).toBe(ANSWER)
    await expect.poll(() => process.log.lines.length).toBe(1)
    expect(await stateOf()).toBe('answered')
    await process.idempotency.maintain()
    expect(await stateOf()).toBe('done')
  })

  test('forgets a request that failed, whose record could not be deleted in time', async () => {
    await using process = await start({ failOnce: 'remove' })
    node.failNext({ kind: 'html' })
    expect((await process.post(key, CALL)).status).toBe(500)
    expect(await stateOf()).toBe('in_progress')
    await process.idempotency.maintain()
    expect(await stateOf()).toBe(undefined)
  })

  test('forgets expired records with their rows, however many', async () => {
    const own = createFakeClock('2025-02-01T00:00:00.000Z')
    await using process = await start({ clock: own })
    node.failNext({ kind: 'huge', bytes: 3_000_000 })
    await (await process.post(key, CALL)).arrayBuffer()
    await expect.poll(stateOf).toBe('done')
    expect(await chunkCount()).toBe(49n)
    await sql`insert into idempotency_records (account_id, key, fingerprint, state, request_id, created_at, expires_at)
      select ${caller.accountId}::uuid, 'old-' || n, '', 'done', gen_random_uuid(), now(), '2025-02-01'
      from generate_series(1, 450) n`.execute(database.db)
    expect(await process.idempotency.maintain()).toBe(450)
    own.advance(24 * 3_600_000)
    expect([await process.idempotency.maintain(), await stateOf(), await chunkCount()]).toEqual([1, undefined, 0n])
  })
})

describe('a process whose clock is wrong', () => {
  beforeAll(async () => {
    await sql`create or replace function ledger_instant(process_time timestamptz) returns timestamptz
      language sql stable as 'select now()'`.execute(database.db)
  })
  afterAll(() => trustProcessClock(database.db))

  test.each([
    ['a year ahead', 365],
    ['a year behind', -365],
  ])('by %s executes no request a second time and forgets none', async (_, days) => {
    const wrong = createFakeClock(new Date(Date.now() + days * 86_400_000).toISOString())
    const right = createFakeClock(new Date().toISOString())
    caller = await createMoneyHarness(database.db, right).addCaller({ usdNano: 2n * PRICE })
    await using first = await start({ clock: right })
    await using second = await start({ clock: wrong })
    const keys = [key, `${key}-2`]
    for (const [index, process] of [first, second].entries()) {
      const answer = await process.post(keys[index] ?? '', CALL)
      expect([answer.status, answer.headers.has('idempotent-replayed')]).toEqual([200, false])
      await Promise.all([first, second].map(({ idempotency }) => idempotency.maintain()))
      for (const other of [first, second]) {
        const repeat = await other.post(keys[index] ?? '', CALL)
        expect([repeat.status, repeat.headers.get('idempotent-replayed')]).toEqual([200, 'true'])
      }
    }
    expect(node.calls).toHaveLength(2)
  })
})
