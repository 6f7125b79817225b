import fc from 'fast-check'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { utcDay } from '../../../../server/domain/clock.ts'
import type { Usage } from '../../../../server/domain/metering/hold.ts'
import type { MoneyItem, MoneyResult } from '../../../../server/domain/metering/money-item.ts'
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts'
import { createFakeClock } from '../../../support/fake-clock.ts'
import { createMoneyHarness, type MoneyHarness } from '../../../support/money-harness.ts'

const RUNS = 30
const TABLES = [
  'balances',
  'holds',
  'key_spend',
  'ledger_transfers',
  'usage_events',
  'usage_daily',
  'usage_hourly',
  'usage_closings',
]

const amount = fc.integer({ min: 0, max: 300 })
const request = fc.nat(12)
const admission = fc.record({ request, key: fc.nat(3), amount, isLate: fc.boolean() })
const line = fc.record({ type: fc.constantFrom('Input', 'Output'), units: fc.nat(9), amount: amount.map(String) })
const settlement = fc.record({
  request,
  charge: amount,
  isRelease: fc.boolean(),
  lines: fc.array(line, { minLength: 1, maxLength: 3 }),
})
const batch = fc.record({
  minutes: fc.integer({ min: 0, max: 1_000 }),
  /** Whether the days of the account until now are closed before. */
  closes: fc.boolean(),
  settlements: fc.array(settlement, { maxLength: 6 }),
  admissions: fc.uniqueArray(admission, { maxLength: 6, selector: (one) => one.request }),
})
type Batch = typeof batch extends fc.Arbitrary<infer Value> ? Value : never

describe('a lone item', () => {
  test('is decided and written like one in a batch', async () => {
    await using database = await createTestDatabase()
    const clock = createFakeClock('2026-02-27T12:00:00.000Z')
    const harness = createMoneyHarness(database.db, clock)
    await fc.assert(
      fc.asyncProperty(fc.array(batch, { minLength: 1, maxLength: 8 }), async (batches) => {
        const together = await createWorld(database, harness)
        const alone = await createWorld(database, harness)
        for (const one of batches) {
          clock.advance(one.minutes * 60_000)
          if (one.closes) await Promise.all([together, alone].map((world) => closeDays(database, world, clock.now())))
          const send = (items: MoneyItem[]) =>
            harness.holds.settleAndAdmit(items, { processId: harness.processId, at: clock.now(), waits: false })
          const results = await send(itemsOf(one, together, clock.now()))
          const loneResults = []
          for (const item of itemsOf(one, alone, clock.now())) loneResults.push(...(await send([item])))
          note(one, results, [together, alone])
          expect(loneResults.map(comparable)).toEqual(results.map(comparable))
          expect(await readRows(database, alone)).toEqual(await readRows(database, together))
        }
      }),
      { numRuns: RUNS },
    )
  }, 120_000)
})

/** An account with keys of all kinds, and what is known of its requests. */
interface World {
  accountId: string
  keyIds: (string | null)[]
  settled: Set<number>
  admitted: Map<number, { currency: 'usd' | 'diem'; admittedAt: Date }>
}

async function createWorld(database: TestDatabase, harness: MoneyHarness): Promise<World> {
  const { accountId, keyId } = await harness.addCaller({ usdNano: 900n, stakeNano: 400n })
  const limited = await harness.addKey(accountId, { usdNano: 300n, diemNano: 200n, period: 'MONTH' })
  const revoked = await harness.addKey(accountId)
  await sql`update api_keys set revoked_at = now() where key_id = ${revoked.keyId}::uuid`.execute(database.db)
  return { accountId, keyIds: [keyId, limited.keyId, revoked.keyId, null], settled: new Set(), admitted: new Map() }
}

async function closeDays(database: TestDatabase, { accountId }: World, now: Date): Promise<void> {
  await sql`insert into usage_closings as c (account_id, closing_until, closed_until)
    values (${accountId}::uuid, ${utcDay(now)}::date + 1, ${utcDay(now)}::date)
    on conflict (account_id) do update set closing_until = greatest(c.closing_until, excluded.closing_until)`.execute(
    database.db,
  )
}

const requestIdOf = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`

function itemsOf(batch: Batch, { accountId, keyIds, admitted, settled }: World, now: Date): MoneyItem[] {
  const settlements = batch.settlements.map((one): MoneyItem => {
    const { currency, admittedAt } = admitted.get(one.request) ?? { currency: 'usd' as const, admittedAt: now }
    const requestId = requestIdOf(one.request)
    const common = { accountId, requestId, currency, day: utcDay(admittedAt), transferId: requestId }
    if (one.isRelease) return { kind: 'settle', item: { ...common, chargeNano: 0n, usage: null } }
    const usage: Usage = {
      sku: 'model',
      modelName: 'Model',
      modelType: 'LLM',
      unitType: 'tokens',
      outcome: 'completed',
      estimated: false,
      lines: one.lines.map(({ amount, ...line }) => ({ ...line, amountNanoUsd: BigInt(amount) })),
      upstreamId: null,
      retries: 0,
      durationMs: 1,
    }
    return { kind: 'settle', item: { ...common, usage, chargeNano: BigInt(one.charge) } }
  })
  const mayBeSettled = (request: number) =>
    settled.has(request) || batch.settlements.some((one) => one.request === request)
  const admissions = batch.admissions.map((one): MoneyItem => {
    // Only a late charge comes with the id of a request that may be settled.
    const original = one.isLate || mayBeSettled(one.request) ? admitted.get(one.request) : undefined
    const item = {
      accountId,
      requestId: requestIdOf(one.request),
      keyId: keyIds[one.key] ?? null,
      amountNano: BigInt(one.amount),
      lateAt: original?.admittedAt ?? null,
    }
    return { kind: 'admit', item }
  })
  return [...settlements, ...admissions]
}

function note(batch: Batch, results: readonly MoneyResult[], worlds: readonly World[]): void {
  for (const { request } of batch.settlements) for (const { settled } of worlds) settled.add(request)
  batch.admissions.forEach(({ request }, index) => {
    const result = results[batch.settlements.length + index]
    if (result?.kind !== 'admit' || result.result.currency === null || result.result.admittedAt === null) return
    const { currency, admittedAt } = result.result
    for (const { admitted } of worlds) admitted.set(request, { currency, admittedAt })
  })
}

/** Who repeats a settlement gets the balance as it is when the repeat is recognized, in a batch after all others. */
function comparable(result: MoneyResult): unknown {
  if (result.kind !== 'settle' || result.result.outcome === 'settled') return result
  return { ...result, result: { ...result.result, balanceAfterNano: undefined } }
}

/** All rows of an account, without what is drawn at random or counts across accounts. */
async function readRows(database: TestDatabase, { accountId, keyIds }: World): Promise<string[]> {
  const texts = []
  for (const table of TABLES) {
    const { rows } = await sql<{ row: string }>`
      select (to_jsonb(t) - 'position' - 'account_id' - 'transfer_id')::text as row
      from ${sql.table(table)} t where t.account_id = ${accountId}::uuid`.execute(database.db)
    texts.push(...rows.map(({ row }) => `${table} ${row}`))
  }
  const name = (text: string) =>
    keyIds.reduce<string>((named, keyId, index) => named.replaceAll(keyId ?? 'no key', `key ${index}`), text)
  return texts.map(name).toSorted()
}
