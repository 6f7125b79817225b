import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { KeyCaller } from '../../../../server/domain/caller.ts'
import { createTestDatabase, EITHER_ENGINE, type TestDatabase } from '../../../support/database.ts'
import { createFakeClock } from '../../../support/fake-clock.ts'
import {
  type IdempotentProcess,
  type ProcessOptions,
  STEPS,
  type Step,
  startIdempotentProcess,
} from '../../../support/idempotency-harness.ts'
import { createMoneyHarness } from '../../../support/money-harness.ts'
import { type RpcNodeServer, startRpcNode } from '../../../support/rpc-node.ts'

const CALL = '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}'
const ANSWER = '{"jsonrpc":"2.0","id":1,"result":"0x10d4f"}'
const PRICE = 20n * 625n
const GRANT = 1_000_000_000n

/** How often the node is called in all, and whether the retry is a replay, by the last step of the process that died. */
const AFTER: Record<Step, { calls: number; replayed: string | null }> = {
  claimed: { calls: 1, replayed: null },
  admitted: { calls: 1, replayed: null },
  called: { calls: 2, replayed: null },
  answered: { calls: 1, replayed: 'true' },
  settled: { calls: 1, replayed: 'true' },
}

describe.each(EITHER_ENGINE)('a retry after a crash on %s', (engine) => {
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
    caller = await createMoneyHarness(database.db, clock).addCaller({ usdNano: GRANT })
  })

  const start = (options: Partial<ProcessOptions> = {}) =>
    startIdempotentProcess(caller, { db: database.db, clock, nodeUrl: node.url, ...options })

  /** Sends a request to a process that stands still at some step, and takes the process's lease away. */
  const strand = async (process: IdempotentProcess, key: string) => {
    const lost = process.post(key, CALL).catch(() => undefined)
    await process.reached
    await process.die()
    return { lost }
  }

  const expectOneCharge = async (process: IdempotentProcess) => {
    const events = await database.db
      .selectFrom('usage_events')
      .select('charge_nano')
      .where('account_id', '=', caller.accountId)
      .execute()
    expect(events).toEqual([{ charge_nano: PRICE }])
    const usd = (await process.money.ledger.balances(caller.accountId)).find(({ currency }) => currency === 'usd')
    expect(usd?.balanceNanoUsd).toBe(GRANT - PRICE)
    expect((await process.money.ledger.verify()).checks.filter(({ ok }) => !ok)).toEqual([])
  }

  const cases = STEPS.flatMap((step) => [true, false].map((swept) => ({ step, swept })))

  test.each(cases)('is charged once when the process died $step (hold swept: $swept)', async ({ step, swept }) => {
    const key = randomUUID()
    await using first = await start({ stopAfter: step })
    await using second = await start()
    await strand(first, key)
    if (swept) await second.money.sweeper.sweep(30)
    const answer = await second.post(key, CALL)
    expect([answer.status, await answer.text()]).toEqual([200, ANSWER])
    expect(answer.headers.get('x-service-rpc-credits')).toBe('20')
    expect(answer.headers.get('idempotent-replayed')).toBe(AFTER[step].replayed)
    expect(node.calls).toHaveLength(AFTER[step].calls)
    await second.money.sweeper.sweep(30)
    await expectOneCharge(second)
    const repeat = await second.post(key, CALL)
    expect([await repeat.text(), repeat.headers.get('idempotent-replayed')]).toEqual([ANSWER, 'true'])
    await expectOneCharge(second)
  })

  test.each(cases)('is charged once though the process wakes again after $step (hold swept: $swept)', async (found) => {
    const key = randomUUID()
    await using first = await start({ stopAfter: found.step })
    await using second = await start()
    const { lost } = await strand(first, key)
    if (found.swept) await second.money.sweeper.sweep(30)
    expect((await second.post(key, CALL)).status).toBe(200)
    first.resume()
    expect([200, 409, 503]).toContain((await lost)?.status)
    await expectOneCharge(second)
  })

  test('is executed once however many processes get it at once', async () => {
    const key = randomUUID()
    await using first = await start({ stopAfter: 'answered' })
    await using second = await start()
    await using third = await start()
    await strand(first, key)
    const posts = Array.from({ length: 20 }, (_, index) => (index % 2 ? second : third).post(key, CALL))
    const answers = await Promise.all(posts)
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(node.calls).toHaveLength(1)
    await expectOneCharge(second)
  })
})
