import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  sql`create table accounts (
    account_id uuid primary key,
    name text not null,
    kind text not null check (kind in ('user', 'wallet')),
    tier text not null check (tier in ('standard', 'partner', 'staff')),
    stake_diem_nano bigint not null default 0 check (stake_diem_nano >= 0),
    wallet_chain text check (wallet_chain in ('evm', 'solana')),
    wallet_address text,
    created_at timestamptz not null,
    unique (wallet_chain, wallet_address)
  )`,
  // Room on each page keeps the updates of every request heap-only.
  sql`create table balances (
    account_id uuid not null references accounts,
    currency text not null check (currency in ('usd', 'diem')),
    balance_nano bigint not null default 0,
    held_nano bigint not null default 0,
    sequence bigint not null default 0,
    epoch_day date,
    primary key (account_id, currency),
    check (0 <= held_nano and held_nano <= balance_nano)
  ) with (fillfactor = 50)`,
  sql`create table api_keys (
    account_id uuid not null references accounts,
    key_id uuid not null,
    key_hash text not null unique,
    type text not null check (type in ('INFERENCE', 'ADMIN')),
    description text not null,
    limit_usd_nano numeric check (limit_usd_nano >= 0),
    limit_diem_nano numeric check (limit_diem_nano >= 0),
    limit_period text not null check (limit_period in ('EPOCH', 'MONTH', 'LIFETIME')),
    model_privacy text not null check (model_privacy in ('ALL', 'PRIVATE_TEXT', 'PRIVATE_ONLY')),
    last6_chars text not null,
    created_at timestamptz not null,
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz,
    primary key (account_id, key_id)
  )`,
  sql`create table key_spend (
    account_id uuid not null,
    key_id uuid not null,
    currency text not null,
    held_nano bigint not null default 0 check (held_nano >= 0),
    day date not null,
    day_nano bigint not null default 0,
    month date not null,
    month_nano bigint not null default 0,
    lifetime_nano bigint not null default 0,
    primary key (account_id, key_id, currency)
  ) with (fillfactor = 50)`,
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
  sql`create table usage_events (
    account_id uuid not null,
    day date not null,
    request_id uuid not null,
    key_id uuid,
    currency text not null,
    sku text not null,
    model_name text not null,
    model_type text,
    unit_type text not null,
    lines json not null,
    charge_nano bigint not null check (charge_nano >= 0),
    hold_nano bigint not null check (hold_nano >= charge_nano),
    outcome text not null,
    estimated boolean not null,
    upstream_id text,
    retries integer not null,
    duration_ms integer not null,
    admitted_at timestamptz not null,
    settled_at timestamptz not null,
    primary key (account_id, day, request_id)
  ) partition by range (day)`,
  // Days are split off ahead of time by the maintenance job; this one catches whatever has no partition of its own.
  sql`create table usage_events_default partition of usage_events default`,
  sql`create table usage_daily (
    account_id uuid not null,
    day date not null,
    key_id uuid not null,
    sku text not null,
    line_type text not null,
    currency text not null,
    model_name text not null,
    model_type text,
    unit_type text not null,
    requests bigint not null,
    units numeric not null,
    amount_nano bigint not null,
    primary key (account_id, day, key_id, sku, line_type, currency)
  ) with (fillfactor = 50)`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await statement.execute(db)
}
