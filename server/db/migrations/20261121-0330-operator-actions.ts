import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  sql`create table operator_actions (
    action_id uuid primary key,
    actor text not null,
    action text not null,
    account_id text,
    key_id text,
    model_id text,
    input json not null,
    reason text,
    request_id text not null,
    outcome text not null check (outcome in ('started', 'done', 'refused', 'failed')),
    error_code text,
    error_message text,
    started_at timestamptz not null,
    finished_at timestamptz
  )`,
  sql`create index operator_actions_account on operator_actions (account_id, action_id) where account_id is not null`,
  sql`create index operator_actions_model on operator_actions (model_id, action_id) where model_id is not null`,
  sql`alter table accounts add column suspended_at timestamptz, add column suspended_reason text`,
  // Support finds an account by what its owner can still see of a key.
  sql`create index api_keys_last6_chars on api_keys (last6_chars)`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await statement.execute(db)
}
