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
  sql`create table catalogue_changes (
    change_id uuid primary key,
    model_id text not null,
    patch json not null,
    effective_at timestamptz not null,
    actor text not null,
    reason text not null,
    created_at timestamptz not null,
    withdrawn_at timestamptz,
    withdrawn_by text,
    withdrawn_reason text
  )`,
  sql`create index catalogue_changes_model on catalogue_changes (model_id, change_id)`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await statement.execute(db)
}
