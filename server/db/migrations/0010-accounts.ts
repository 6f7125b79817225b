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
    limit_overrides json,
    suspended_at timestamptz,
    suspended_reason text,
    unique (wallet_chain, wallet_address)
  )`,
  // Operators list accounts by age, because the ids of wallet accounts are derived and have no order in time.
  sql`create index accounts_by_age on accounts (created_at, account_id)`,
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
    limit_overrides json,
    -- By the database's clock; null for a key that does not count against the creation limit.
    counted_at timestamptz,
    primary key (account_id, key_id)
  )`,
  // Support finds an account by the part of a key that its owner can still see.
  sql`create index api_keys_last6_chars on api_keys (last6_chars)`,
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
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await statement.execute(db)
}
