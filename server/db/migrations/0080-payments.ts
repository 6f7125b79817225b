import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  sql`create table payments (
    payment_id uuid primary key,
    network text not null,
    claim_key text not null,
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
    reason text,
    account_id uuid,
    balance_after_nano bigint,
    received_at timestamptz not null,
    updated_at timestamptz not null,
    look_at timestamptz,
    looks integer not null default 0,
    idempotency_key text,
    check ((state in ('settled', 'credited')) = (transfer_index is not null)),
    check ((state = 'credited') = (account_id is not null and balance_after_nano is not null))
  )`,
  sql`create unique index payments_claim on payments (network, claim_key)`,
  sql`create unique index payments_transfer on payments (network, transaction_id, transfer_index) where transfer_index is not null`,
  sql`create index payments_look on payments (look_at) where look_at is not null`,
  sql`create index payments_received on payments (received_at, payment_id)`,
  sql`create unique index payments_idempotency on payments (payer_chain, payer_address, idempotency_key)
    where idempotency_key is not null and state not in ('refused', 'failed', 'dead')`,
  sql`create index payments_keyed on payments (received_at) where idempotency_key is not null`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await statement.execute(db)
}
