import { randomUUID } from 'node:crypto'
import { request } from 'node:http'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { KeyCaller } from '../../../../server/domain/caller.ts'
import type { StorageLimits } from '../../../../server/domain/idempotency/idempotency-record.ts'
import { createTestDatabase, EITHER_ENGINE, type TestDatabase } from '../../../support/database.ts'
import { createFakeClock } from '../../../support/fake-clock.ts'
import { startIdempotentProcess } from '../../../support/idempotency-harness.ts'
import { createMoneyHarness } from '../../../support/money-harness.ts'
import { type RpcNodeServer, startRpcNode } from '../../../support/rpc-node.ts'

const CALL = '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}'
const PRICE = 20n * 625n
/** What `huge` adds to the bytes of its result. */
const ENVELOPE_BYTES = 36
/** Sealing adds to each row of 60 KiB. */
const SEAL_BYTES = 28

describe.each(EITHER_ENGINE)('the storage for responses on %s', (engine) => {
  let database: TestDatabase
  let node: RpcNodeServer
  let caller: KeyCaller
  const clock = createFakeClock()

  beforeAll(async () => {
    database = await createTestDatabase(engine)
    node = await startRpcNode()
  })
  afterAll(async () => {
    await node.close()
    await database.close()
  })
  beforeEach(async () => {
    node.calls.length = 0
    caller = await createMoneyHarness(database.db, clock).addCaller({ usdNano: 1_000n * PRICE })
  })

  const start = (limits: Partial<StorageLimits>, own = clock) =>
    startIdempotentProcess(caller, { db: database.db, clock: own, nodeUrl: node.url, limits })
  const countedBytes = async (accountId = caller.accountId) => {
    const { rows } = await sql<{ bytes: bigint; written: bigint }>`
      select s.bytes, (select sum(w.bytes)::bigint from idempotency_written w where w.account_id = s.account_id) as written
      from idempotency_storage s where s.account_id = ${accountId}`.execute(database.db)
    return rows[0]
  }
  const totalBytes = async () =>
    (await database.db.selectFrom('idempotency_total').select('bytes').executeTakeFirstOrThrow()).bytes
  const postLarge = async (process: Awaited<ReturnType<typeof start>>, bytes: number, key = randomUUID()) => {
    node.failNext({ kind: 'huge', bytes })
    const response = await process.post(key, CALL)
    await response.arrayBuffer()
    return { key, stored: response.headers.get('idempotent-stored') }
  }

  test('counts every byte that is written, sealed', async () => {
    await using process = await start({})
    await (await process.post(randomUUID(), CALL)).text()
    const small = (await countedBytes())?.bytes ?? 0n
    expect(small).toBeGreaterThan(40n)
    await postLarge(process, 1_000_000)
    const counted = await countedBytes()
    expect(counted?.bytes).toBe(small + BigInt(1_000_000 + ENVELOPE_BYTES + 17 * SEAL_BYTES))
    expect(counted?.written).toBe(counted?.bytes)
  })

  test('lets a response pass that the account has no room for, charges it and says so', async () => {
    await using process = await start({ maxAccountBytes: 1_500_000 })
    expect((await postLarge(process, 1_000_000)).stored).toBeNull()
    const before = await countedBytes()
    const { key } = await postLarge(process, 1_000_000)
    const repeat = await process.post(key, CALL)
    expect([repeat.status, await repeat.json()]).toMatchObject([409, { error: expect.stringContaining('not stored') }])
    expect(node.calls).toHaveLength(2)
    const [usd] = await process.money.ledger.balances(caller.accountId)
    expect(usd?.balanceNanoUsd).toBe(1_000n * PRICE - 2n * PRICE)
    // What was written of it before the room ended stays counted, since its disk is not free yet.
    expect((await countedBytes())?.bytes).toBeGreaterThan(before?.bytes ?? 0n)
    expect((await countedBytes())?.bytes).toBeLessThanOrEqual(1_500_000n)
  })

  test('names a small response that is not stored in its header', async () => {
    await using process = await start({ maxAccountBytes: 10 })
    const key = randomUUID()
    const first = await process.post(key, CALL)
    expect([first.status, first.headers.get('idempotent-stored')]).toEqual([200, 'false'])
    expect((await process.post(key, CALL)).status).toBe(409)
    expect([node.calls.length, await countedBytes()]).toEqual([1, undefined])
  })

  test('names a streamed response that is known not to be stored in its header, others in a trailer', async () => {
    await using full = await start({ maxAccountBytes: 0 })
    expect((await postLarge(full, 1_000_000)).stored).toBe('false')
    await using narrow = await start({ maxResponseBytes: 600_000 })
    node.failNext({ kind: 'huge', bytes: 1_000_000 })
    const { headers, trailers } = await exchange(narrow.url, CALL)
    expect([headers['idempotent-stored'], headers['trailer'], trailers['idempotent-stored']]).toEqual([
      undefined,
      'Idempotent-Stored',
      'false',
    ])
    node.failNext({ kind: 'huge', bytes: 300_000 })
    expect((await exchange(narrow.url, CALL)).trailers).toEqual({})
  })

  test('gives accounts at once no byte more than their quota, over several processes', async () => {
    const limits = { maxAccountBytes: 1_200_000 }
    await using first = await start(limits)
    await using second = await start(limits)
    for (let count = 0; count < 12; count++) node.failNext({ kind: 'huge', bytes: 300_000 })
    const processes = Array.from({ length: 12 }, (_, index) => (index % 2 === 0 ? first : second))
    const responses = await Promise.all(processes.map((process) => process.post(randomUUID(), CALL)))
    const bodies = await Promise.all(responses.map((response) => response.arrayBuffer()))
    expect(bodies.map(({ byteLength }) => byteLength)).toEqual(Array(12).fill(300_000 + ENVELOPE_BYTES))
    const stored = await database.db
      .selectFrom('idempotency_records')
      .select('chunk_count')
      .where('account_id', '=', caller.accountId)
      .where('chunk_count', 'is not', null)
      .execute()
    expect(stored.length).toBeGreaterThanOrEqual(2)
    expect(stored.length).toBeLessThanOrEqual(3)
    expect((await countedBytes())?.bytes).toBeLessThanOrEqual(1_200_000n)
  })

  test('holds a total of all accounts in steps of 64 KiB', async () => {
    const before = await totalBytes()
    const others = await createMoneyHarness(database.db, clock).addCaller({ usdNano: PRICE })
    await using process = await start({ maxTotalBytes: Number(before) + 2 * 65_536 })
    await using neighbour = await startIdempotentProcess(others, {
      db: database.db,
      clock,
      nodeUrl: node.url,
      limits: { maxTotalBytes: Number(before) + 2 * 65_536 },
    })
    expect((await postLarge(process, 120_000)).stored).toBeNull()
    expect(await totalBytes()).toBe(before + 2n * 65_536n)
    const response = await neighbour.post(randomUUID(), CALL)
    expect([response.status, response.headers.get('idempotent-stored')]).toEqual([200, 'false'])
    expect((await countedBytes(others.accountId))?.bytes ?? 0n).toBe(0n)
    // Within its last step the first account still has room.
    expect((await process.post(randomUUID(), CALL)).headers.get('idempotent-stored')).toBeNull()
  })

  test('is free again when the responses have expired, and not when they are deleted before', async () => {
    const own = createFakeClock('2025-03-01T00:10:00.000Z')
    const before = await totalBytes()
    await using process = await start({ maxAccountBytes: 500_000 }, own)
    await postLarge(process, 400_000)
    await sql`delete from idempotency_records where account_id = ${caller.accountId}`.execute(database.db)
    const small = await postLarge(process, 400_000)
    expect((await process.post(small.key, CALL)).status).toBe(409)
    own.advance(25 * 3_600_000)
    await process.idempotency.maintain()
    expect(await countedBytes()).toEqual({ bytes: 0n, written: null })
    expect(await totalBytes()).toBe(before)
    const { key } = await postLarge(process, 400_000)
    expect((await process.post(key, CALL)).headers.get('idempotent-replayed')).toBe('true')
  })
})

/** With what `fetch` does not show: the trailers. */
function exchange(url: string, body: string) {
  const { promise, resolve, reject } = Promise.withResolvers<Record<'headers' | 'trailers', NodeJS.Dict<unknown>>>()
  const headers = { authorization: 'Bearer key', 'idempotency-key': randomUUID() }
  request(url, { method: 'POST', headers }, (response) => {
    response.resume()
    response.once('error', reject)
    response.once('end', () => resolve({ headers: response.headers, trailers: response.trailers }))
  })
    .once('error', reject)
    .end(body)
  return promise
}
