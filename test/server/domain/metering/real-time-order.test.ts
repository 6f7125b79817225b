import { expect, test } from 'vitest'
import { createTestDatabase } from '../../../support/database.ts'
import { createFakeClock } from '../../../support/fake-clock.ts'
import { createMoneyHarness, usageOf } from '../../../support/money-harness.ts'

const WORKERS = 8
const REQUESTS_PER_WORKER = 25

test('a request that ended before another began precedes it in the ledger, over two processes (I8)', async () => {
  await using database = await createTestDatabase()
  const clock = createFakeClock()
  const processes = [createMoneyHarness(database.db, clock), createMoneyHarness(database.db, clock)]
  const caller = await processes[0]?.addCaller({ usdNano: 1_000_000n })
  if (caller === undefined) throw new Error('the first process makes the account')

  let instant = 0
  const history: { requestId: string; began: number; ended: number }[] = []
  const work = async (worker: number): Promise<void> => {
    for (let count = 0; count < REQUESTS_PER_WORKER; count += 1) {
      const began = instant++
      const request = await processes[worker % 2]?.open(caller, 10n)
      await request?.settle(usageOf(7n))
      history.push({ requestId: request?.hold.requestId ?? '', began, ended: instant++ })
    }
  }
  await Promise.all(Array.from({ length: WORKERS }, (_, worker) => work(worker)))

  const rows = await database.db
    .selectFrom('ledger_transfers')
    .select(['request_id', 'sequence'])
    .where('kind', '=', 'charge')
    .execute()
  const sequenceOf = new Map(rows.map((row) => [row.request_id, row.sequence]))
  const inversions = history.flatMap((first) =>
    history.filter(
      (later) =>
        first.ended < later.began && (sequenceOf.get(first.requestId) ?? 0n) >= (sequenceOf.get(later.requestId) ?? 0n),
    ),
  )
  expect(rows).toHaveLength(WORKERS * REQUESTS_PER_WORKER)
  expect(inversions).toEqual([])
})
