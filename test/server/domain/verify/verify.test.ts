import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { utcDay } from '../../../../server/domain/clock.ts'
import { createIdSource } from '../../../../server/domain/ids.ts'
import { PaymentRepository } from '../../../../server/domain/payments/payment-repository.ts'
import { UsageClosing } from '../../../../server/domain/usage/closing/usage-closing.ts'
import { UsageClosingRepository } from '../../../../server/domain/usage/closing/usage-closing-repository.ts'
import { UsagePartitionRepository } from '../../../../server/domain/usage/retention/usage-partition-repository.ts'
import { SnapshotRepository } from '../../../../server/domain/verify/snapshot-repository.ts'
import type { Verification } from '../../../../server/domain/verify/verification.ts'
import { Verifier } from '../../../../server/domain/verify/verifier.ts'
import { VERIFY_SCANS } from '../../../../server/domain/verify/verify-scans.ts'
import { WalletLinkRepository } from '../../../../server/domain/wallets/wallet-link-repository.ts'
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts'
import { createFakeClock } from '../../../support/fake-clock.ts'
import { createMoneyHarness, type MoneyHarness, usageOf } from '../../../support/money-harness.ts'
import { RECEIVED_PAYMENT } from '../../../support/received-payment.ts'
import { IS_SOAK } from '../../../support/soak.ts'
import { CORRUPTIONS } from './corruptions.ts'

const DAY_MS = 86_400_000
const USD = 1_000_000_000n
const WALLET = { chain: 'evm', address: `0x${'a'.repeat(40)}` } as const
const TABLES = [
  'balances',
  'diem_stakes',
  'holds',
  'key_spend',
  'ledger_transfers',
  'usage_events',
  'usage_expired',
  'usage_daily',
  'usage_closings',
  'usage_daily_totals',
  'usage_hourly',
  'usage_hourly_totals',
  'payments',
]

let database: TestDatabase
let money: MoneyHarness

/** A credited payment, and a wallet that was linked after it, so that its money moved. */
async function payAndLink(accountId: string): Promise<void> {
  const { clock } = money
  const [payments, ids, now] = [new PaymentRepository(database.db), createIdSource(clock), clock.now()]
  const accepted = {
    scheme: 'exact',
    network: 'eip155:8453',
    amount: '5000000',
    asset: '0xA',
    payTo: '0xB',
    maxTimeoutSeconds: 300,
    extra: {},
  } as const
  const id = ids.uuid()
  const payment = {
    id,
    state: 'received',
    signed: {
      network: accepted.network,
      payer: WALLET,
      asset: accepted.asset,
      payTo: accepted.payTo,
      amountAtomic: 5_000_000n,
      claimKey: 'claim',
      nonceKey: 'nonce',
      validUntil: null,
      wire: { x402Version: 2, accepted, payload: {} },
    },
    receivedAt: now,
    ...RECEIVED_PAYMENT,
  } as const
  await payments.claim(payment, { now, checkAt: null })
  const transfer = { transactionId: '0x1', transferIndex: 0, payer: WALLET, amountAtomic: 5_000_000n }
  await payments.step(payment, { to: 'settled', transfer }, { now, checkAt: null })
  await payments.credit(payment, { transferId: ids.uuid(), now })
  const links = new WalletLinkRepository(database.db)
  await links.link({ wallet: WALLET, accountId, now, walletsMax: 20, newId: () => ids.uuid() })
}

/** Days of charges in both currencies, all but the last closed, one hold that stays open, and whatever else the ledger knows. */
async function fillLedger(): Promise<void> {
  const clock = createFakeClock('2026-02-27T12:00:00.000Z')
  money = createMoneyHarness(database.db, clock)
  await money.sweeper.start()
  const closing = new UsageClosing({
    closings: new UsageClosingRepository(database.db),
    clock,
    ids: createIdSource(clock),
  })
  const caller = await money.addCaller({ usdNano: 10n * USD })
  const staked = await money.addCaller({ usdNano: USD, stakeNano: 2n * USD })
  await money.ledger.grant({ accountId: caller.accountId, amountNanoUsd: USD, reason: 'test', reference: 'gift' })
  await money.addCaller({})
  const other = await money.addKey(caller.accountId)
  const old = await money.open(caller, USD)
  await old.settle(usageOf(11n))
  clock.advance(DAY_MS)
  await new UsagePartitionRepository(database.db).deleteFirstDay('usage_events', utcDay(clock.now()))
  for (const payer of [caller, staked]) {
    for (const charge of [100n, 250n]) {
      await closing.closeDays()
      await (await money.open(payer, USD)).settle(usageOf(charge))
      clock.advance(DAY_MS)
    }
    await money.open(payer, 500n)
  }
  await (await money.open(caller, USD)).settle(usageOf(100n))
  await (await money.open(caller, USD)).settle(usageOf(250n, { sku: 'dear-model', modelName: 'Dear Model' }))
  const lines = [
    { type: 'Input', units: 4, amountNanoUsd: 30n },
    { type: 'Output', units: 3, amountNanoUsd: 40n },
  ]
  await (await money.open(other, USD)).settle(usageOf(70n, { lines }))
  clock.advance(8 * DAY_MS)
  await closing.closeDays()
  await (await money.open(caller, USD)).settle(usageOf(100n))
  await payAndLink(caller.accountId)
}

/** Constraints keep most of this from happening; what they keep out must be found as well, or restored data could hide it. */
async function dropConstraints(): Promise<void> {
  const { rows } = await sql<{ name: string; of: string }>`
    select conname as name, conrelid::regclass::text as of from pg_constraint
    where contype in ('c', 'f') and conparentid = 0 and conrelid::regclass::text = any(${TABLES})`.execute(database.db)
  for (const { name, of } of rows) {
    await sql`alter table ${sql.table(of)} drop constraint ${sql.ref(name)}`.execute(database.db)
  }
  await sql`drop index ledger_transfers_reference`.execute(database.db)
  await sql`create schema kept`.execute(database.db)
  for (const table of TABLES) {
    await sql`create table ${sql.table(`kept.${table}`)} as table ${sql.table(table)}`.execute(database.db)
  }
}

async function restore(): Promise<void> {
  for (const table of TABLES) {
    await sql`delete from ${sql.table(table)}`.execute(database.db)
    await sql`insert into ${sql.table(table)} select * from ${sql.table(`kept.${table}`)}`.execute(database.db)
  }
}

const brokenIn = ({ checks }: Verification) => checks.filter(({ ok }) => !ok).map(({ id }) => id)
const broken = async () => brokenIn(await money.ledger.verify())
/** Invariants of which an account may have more rows than fit into a slice. */
const READ_IN_PARTS = new Set(['I2', 'I7', 'I12', 'I13', 'I14', 'I15'])
/** One case of each of them, and in the soak every case. */
const IN_PARTS = CORRUPTIONS.filter(
  ([invariant], index) =>
    READ_IN_PARTS.has(invariant) && (IS_SOAK || index === CORRUPTIONS.findIndex(([id]) => id === invariant)),
)
/** The same in slices of two rows, so that every account is read part by part. */
const brokenInParts = async () => brokenIn(await createVerifier({ first: 2, min: 2, max: 2 }).verify())

function createVerifier(sliceRows?: { first: number; min: number; max: number }): Verifier {
  const snapshots = new SnapshotRepository(database.db)
  return new Verifier({ snapshots, scans: VERIFY_SCANS, clock: money.clock, ...(sliceRows && { sliceRows }) })
}

describe('verify', () => {
  beforeAll(async () => {
    database = await createTestDatabase()
    await fillLedger()
    await dropConstraints()
  })
  afterAll(async () => {
    await money.sweeper.stop()
    await database.close()
  })
  afterEach(restore)

  test('finds nothing in what the money path wrote', async () => {
    expect(await broken()).toEqual([])
    expect(await brokenInParts()).toEqual([])
  })

  test.each(CORRUPTIONS)('%s finds %s', async (invariant, _, statement) => {
    const { numAffectedRows = 0n } = await sql.raw(statement).execute(database.db)
    expect(numAffectedRows).toBeGreaterThan(0n)
    expect(await broken()).toContain(invariant)
  })

  test.each(IN_PARTS)('%s finds %s, also in slices of two rows', async (invariant, _, statement) => {
    await sql.raw(statement).execute(database.db)
    expect(await brokenInParts()).toContain(invariant)
  })
})
