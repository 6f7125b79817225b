import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  sql`create table payments (
    payment_id uuid primary key,
    network text not null,
    claim_key text not null,
    nonce_key text not null,
    state text not null check (state in ('received', 'verified', 'settling', 'settled', 'credited', 'refused', 'failed', 'dead')),
    payer_chain text not null check (payer_chain in ('evm', 'solana')),
    payer_address text not null,
    asset text not null,
    pay_to text not null,
    amount_atomic bigint not null check (amount_atomic > 0),
    valid_until timestamptz,
    wire text not null,
    digest text not null,
    transaction_id text,
    told_transaction_ids text[] not null default '{}',
    transfer_index integer,
    transfer_atomic bigint check (transfer_atomic > 0),
    reason text,
    account_id uuid,
    balance_after_nano bigint,
    received_at timestamptz not null,
    updated_at timestamptz not null,
    look_at timestamptz,
    looks integer not null default 0,
    idempotency_key text,
    client_network text,
    recheck_at timestamptz,
    rechecks integer not null default 0,
    missing_checks integer not null default 0,
    disappeared_at timestamptz,
    corrected_nano bigint check (corrected_nano >= 0),
    corrected_at timestamptz,
    check ((state in ('settled', 'credited')) = (transfer_index is not null)),
    check ((transfer_index is null) = (transfer_atomic is null)),
    check ((corrected_at is null) = (corrected_nano is null)),
    check ((state = 'credited') = (account_id is not null and balance_after_nano is not null))
  )`,
  sql`create unique index payments_claim on payments (network, claim_key)`,
  sql`create unique index payments_transfer on payments (network, transaction_id, transfer_index) where transfer_index is not null`,
  // A payer may sign several amounts under one nonce; the chain accepts one of them.
  sql`create unique index payments_nonce_paid on payments (network, nonce_key) where transfer_index is not null`,
  sql`create unique index payments_nonce_settling on payments (network, nonce_key) where state = 'settling'`,
  sql`create index payments_look on payments (look_at) where look_at is not null`,
  sql`create index payments_verified on payments (look_at) where look_at is not null and state <> 'received'`,
  sql`create index payments_unverified on payments (looks, look_at) where look_at is not null and state = 'received'`,
  sql`create index payments_recheck on payments (recheck_at) where recheck_at is not null`,
  sql`create index payments_disappeared on payments (disappeared_at) where disappeared_at is not null`,
  sql`create index payments_received on payments (received_at, payment_id)`,
  sql`create unique index payments_idempotency on payments (payer_chain, payer_address, idempotency_key)
    where idempotency_key is not null and state not in ('refused', 'failed', 'dead')`,
  sql`create index payments_keyed on payments (received_at) where idempotency_key is not null or client_network is not null`,
  sql`create table payment_fees (
    network text not null,
    day date not null,
    spent numeric not null,
    primary key (network, day)
  )`,
  sql`create table settlement_failures (
    network text not null,
    transaction_id text not null,
    payer_chain text not null,
    payer_address text not null,
    client_network text,
    failed_at timestamptz not null,
    primary key (network, transaction_id)
  )`,
  sql`create index payments_settling_payer on payments (payer_chain, payer_address) where state = 'settling'`,
  sql`create index payments_settling_client on payments (client_network) where state = 'settling'`,
  sql`create index settlement_failures_payer on settlement_failures (payer_chain, payer_address, failed_at)`,
  sql`create index settlement_failures_client on settlement_failures (client_network, failed_at)`,
  sql`create index settlement_failures_age on settlement_failures (failed_at)`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await statement.execute(db)
}
