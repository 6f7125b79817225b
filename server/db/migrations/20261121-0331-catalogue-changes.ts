import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
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
