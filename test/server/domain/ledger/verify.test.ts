import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createIdSource } from '../../../../server/domain/ids.ts'
import { PaymentRepository } from '../../../../server/domain/payments/payment-repository.ts'
import { UsageClosing } from '../../../../server/domain/usage/usage-closing.ts'
import { UsageClosingRepository } from '../../../../server/domain/usage/usage-closing-repository.ts'
import { WalletLinkRepository } from '../../../../server/domain/wallets/wallet-link-repository.ts'
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts'
import { createFakeClock } from '../../../support/fake-clock.ts'
import { createMoneyHarness, type MoneyHarness, usageOf } from '../../../support/money-harness.ts'
import { RECEIVED_PAYMENT } from '../../../support/received-payment.ts'

const DAY_MS = 86_400_000
const USD = 1_000_000_000n
const NO_KEY = '00000000-0000-0000-0000-000000000000'
const WALLET = { chain: 'evm', address: `0x${'a'.repeat(40)}` } as const
const TABLES = [
  'balances',
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
      validUntil: null,
      wire: { x402Version: 2, accepted, payload: {} },
    },
    receivedAt: now,
    ...RECEIVED_PAYMENT,
  } as const
  await payments.claim(payment, { now, lookAt: null })
  const transfer = { transactionId: '0x1', transferIndex: 0, payer: WALLET, amountAtomic: 5_000_000n }
  await payments.step(id, { to: 'settled', transfer }, { now, lookAt: null })
  await payments.credit(id, { transferId: ids.uuid(), now })
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
  for (const payer of [caller, staked]) {
    for (const charge of [100n, 250n]) {
      await closing.closeDays()
      await (await money.open(payer, USD)).settle(usageOf(charge))
      clock.advance(DAY_MS)
    }
    await money.open(payer, 500n)
  }
  await payAndLink(caller.accountId)
}

/** Constraints keep most of this from happening; what they keep out must be found as well, or restored data could hide it. */
async function dropConstraints(): Promise<void> {
  const { rows } = await sql<{ name: string; of: string }>`
    select conname as name, conrelid::regclass::text as of from pg_constraint
    where contype = 'c' and conparentid = 0 and conrelid::regclass::text = any(${TABLES})`.execute(database.db)
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

const broken = async () => (await money.ledger.verify()).checks.filter(({ ok }) => !ok).map(({ id }) => id)

const CHARGE = `(select transfer_id from ledger_transfers where kind = 'charge' order by transfer_id limit 1)`
const CORRUPTIONS: [invariant: string, what: string, statement: string][] = [
  ['I1', 'a transfer of nothing', `update ledger_transfers set amount_nano = 0 where transfer_id = ${CHARGE}`],
  [
    'I1',
    'a transfer from an account to itself',
    `update ledger_transfers set credit_account = 'customer' where transfer_id = ${CHARGE}`,
  ],
  [
    'I1',
    'a transfer that no customer is part of',
    `update ledger_transfers set debit_account = 'platform:x' where transfer_id = ${CHARGE}`,
  ],
  ['I2', 'a balance that nobody posted', `update balances set balance_nano = balance_nano + 1 where currency = 'usd'`],
  ['I2', 'a transfer that is gone', `delete from ledger_transfers where transfer_id = ${CHARGE}`],
  ['I2', 'a sequence that is ahead', `update balances set sequence = sequence + 1`],
  ['I2', 'a balance that is gone', `delete from balances where currency = 'diem'`],
  ['I3', 'a negative balance', `update balances set balance_nano = -1`],
  ['I3', 'more held than there is', `update balances set held_nano = balance_nano + 1`],
  ['I4', 'a held amount without a hold', `update balances set held_nano = held_nano + 1`],
  ['I4', 'a hold that holds nothing', `update balances set held_nano = 0`],
  ['I4', "a key's held amount without a hold", `update key_spend set held_nano = held_nano + 1`],
  ['I4', 'a key whose hold is not counted', `delete from key_spend where currency = 'usd'`],
  [
    'I4',
    'a hold of an account without a balance',
    `insert into holds select gen_random_uuid(), request_id, null, currency, amount_nano, day, admitted_at, process_id from holds limit 1`,
  ],
  [
    'I5',
    'a second charge of a request',
    `insert into ledger_transfers select account_id, currency, sequence + 1000, gen_random_uuid(), kind, debit_account, credit_account, amount_nano, balance_after_nano, request_id, reference, reason, created_at from ledger_transfers where transfer_id = ${CHARGE}`,
  ],
  [
    'I5',
    'a charge of a request whose hold is open',
    `update holds h set request_id = t.request_id from ledger_transfers t where t.account_id = h.account_id and t.kind = 'charge' and t.transfer_id = ${CHARGE}`,
  ],
  [
    'I6',
    'a reference that is posted twice',
    `insert into ledger_transfers select account_id, currency, sequence + 1000, gen_random_uuid(), kind, debit_account, credit_account, amount_nano, balance_after_nano, request_id, reference, reason, created_at from ledger_transfers where reference = 'gift'`,
  ],
  [
    'I7',
    'a balance that does not follow from the one before',
    `update ledger_transfers set balance_after_nano = balance_after_nano + 1 where transfer_id = ${CHARGE}`,
  ],
  [
    'I7',
    'a gap between sequences',
    `update ledger_transfers set sequence = sequence + 1000 where transfer_id = ${CHARGE}`,
  ],
  ['I9', 'an event that was charged more', `update usage_events set charge_nano = charge_nano + 1`],
  [
    'I9',
    'an event that is gone',
    `delete from usage_events where (account_id, request_id) in (select account_id, request_id from usage_events limit 1)`,
  ],
  ['I9', 'a day that adds up to more', `update usage_daily set amount_nano = amount_nano + 1`],
  [
    'I9',
    'usage of nobody that expired',
    `insert into usage_expired select account_id, '${NO_KEY}', currency, 1 from balances`,
  ],
  ['I9', "a key's total that is not its usage", `update key_spend set lifetime_nano = lifetime_nano - 1`],
  ['I9', 'a key whose spending is forgotten', `delete from key_spend`],
  ['I9', "a key's day that is not its usage", `update key_spend set day_nano = day_nano - 1`],
  ['I9', "a key's month that is not its usage", `update key_spend set month_nano = month_nano + 1`],
  ['I10', 'a payment of another amount', `update payments set amount_atomic = amount_atomic + 1`],
  ['I10', 'a top-up without a payment', `delete from payments`],
  ['I10', 'a top-up that is gone', `delete from ledger_transfers where kind = 'top_up'`],
  [
    'I10',
    'a payment of another account',
    `update payments set account_id = (select account_id from balances where currency = 'diem' limit 1)`,
  ],
  [
    'I11',
    'money that leaves one account and reaches none',
    `delete from ledger_transfers where kind = 'transfer' and credit_account = 'customer'`,
  ],
  [
    'I11',
    'a move that reaches another account with more',
    `update ledger_transfers set amount_nano = amount_nano + 1 where kind = 'transfer' and credit_account = 'customer'`,
  ],
  ['I12', 'amounts by model', `update usage_daily_totals set amount_nano = amount_nano + 1 where grain = 'model'`],
  ['I12', 'requests by key', `update usage_daily_totals set requests = requests + 1 where grain = 'key'`],
  ['I12', 'a closed day that is gone', `delete from usage_daily_totals where grain = 'line'`],
  ['I12', 'units by hour', `update usage_hourly set units = units + 1`],
  ['I12', 'an hour that is gone', `delete from usage_hourly where hour = (select max(hour) from usage_hourly)`],
  ['I12', 'an hour by key that is gone', `delete from usage_hourly_totals where grain = 'key'`],
  [
    'I12',
    'lines by hour and model',
    `update usage_hourly_totals set line_requests = line_requests - 1 where grain = 'model'`,
  ],
  [
    'I12',
    'a day that counts as closed',
    `update usage_closings set closing_until = closing_until + 1, closed_until = closed_until + 1`,
  ],
]

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

  test('is content with what the money path wrote', async () => {
    expect(await broken()).toEqual([])
  })

  test.each(CORRUPTIONS)('%s finds %s', async (invariant, _, statement) => {
    const { numAffectedRows = 0n } = await sql.raw(statement).execute(database.db)
    expect(numAffectedRows).toBeGreaterThan(0n)
    expect(await broken()).toContain(invariant)
  })
})
