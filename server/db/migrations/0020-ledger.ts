import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  sql`create table processes (
    process_id uuid primary key,
    started_at timestamptz not null,
    heartbeat_at timestamptz not null
  )`,
  sql`create table holds (
    account_id uuid not null,
    request_id uuid not null,
    key_id uuid,
    currency text not null,
    amount_nano bigint not null check (amount_nano >= 0),
    day date not null,
    admitted_at timestamptz not null,
    process_id uuid not null,
    primary key (account_id, request_id)
  ) with (autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_scale_factor = 0)`,
  sql`create table ledger_transfers (
    account_id uuid not null,
    currency text not null,
    sequence bigint not null,
    transfer_id uuid not null,
    kind text not null,
    debit_account text not null,
    credit_account text not null,
    amount_nano bigint not null check (amount_nano > 0),
    balance_after_nano bigint not null check (balance_after_nano >= 0),
    request_id uuid,
    reference text,
    reason text,
    created_at timestamptz not null,
    primary key (account_id, currency, sequence),
    check ((debit_account = 'customer') <> (credit_account = 'customer'))
  )`,
  sql`create unique index ledger_transfers_reference on ledger_transfers (account_id, reference) where reference is not null`,
  sql`create index ledger_transfers_request on ledger_transfers (account_id, request_id) where request_id is not null`,
  sql`create index ledger_transfers_allowance on ledger_transfers (account_id, created_at) where kind = 'diem_allowance'`,
  // Both sides of a move are found by its reference.
  sql`create index ledger_transfers_moves on ledger_transfers (reference) where kind = 'transfer'`,
  // The stake that granted a day's DIEM; its allowances must add up to it.
  sql`create table diem_stakes (
    account_id uuid not null,
    day date not null,
    stake_nano bigint not null check (stake_nano >= 0),
    primary key (account_id, day)
  )`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await statement.execute(db)
}
