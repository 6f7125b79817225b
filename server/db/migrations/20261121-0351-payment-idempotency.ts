import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  sql`alter table payments add column idempotency_key text`,
  sql`create unique index payments_idempotency on payments (payer_chain, payer_address, idempotency_key)
    where idempotency_key is not null and state not in ('refused', 'failed', 'dead')`,
  sql`create index payments_keyed on payments (received_at) where idempotency_key is not null`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await statement.execute(db)
}
