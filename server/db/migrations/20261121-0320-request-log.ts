import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  // Given out while the settlement holds the lock of the account's balance, so an account's positions rise in the order
  // of its commits: whoever has seen one has seen all before it. Events from before this migration have none.
  sql`create sequence usage_positions`,
  sql`alter table usage_events add column position bigint`,
  sql`alter table usage_events alter column position set default nextval('usage_positions')`,
  sql`create index usage_events_position on usage_events (account_id, position) where position is not null`,
  sql`create index ledger_transfers_request on ledger_transfers (account_id, request_id) where request_id is not null`,
  sql`alter table idempotency_records add column replays integer not null default 0`,
  sql`create index idempotency_records_request on idempotency_records (account_id, request_id)`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await statement.execute(db)
}
