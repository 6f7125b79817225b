import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  sql`create table wallet_links (
    wallet_chain text not null check (wallet_chain in ('evm', 'solana')),
    wallet_address text not null,
    account_id uuid not null references accounts,
    linked_at timestamptz not null,
    primary key (wallet_chain, wallet_address)
  )`,
  sql`create index wallet_links_account on wallet_links (account_id, linked_at)`,
  sql`create table revoked_wallet_sessions (
    session_id uuid primary key,
    expires_at timestamptz not null
  )`,
  sql`create table single_use_claims (
    claim_key text primary key,
    expires_at timestamptz not null
  )`,
  sql`create index single_use_claims_expiry on single_use_claims (expires_at)`,
  sql`create table wallet_stakes (
    wallet_address text primary key,
    account_id uuid not null references accounts,
    day date not null,
    stake_nano bigint not null check (stake_nano >= 0)
  )`,
  sql`create index wallet_stakes_account on wallet_stakes (account_id, day)`,
  sql`create index wallet_stakes_day on wallet_stakes (day) where stake_nano > 0`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await statement.execute(db)
}
