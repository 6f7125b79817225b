import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  sql`create table rate_limit_refusals (
    account_id uuid not null,
    refusal_id uuid not null,
    key_id uuid,
    subject text not null,
    tier text not null,
    type text not null check (type in ('RPM', 'TPM', 'RPD', 'FAILED_REQUESTS')),
    refused_at timestamptz not null,
    primary key (account_id, refused_at, refusal_id)
  )`,
  // Across all accounts, for the operator's list and for deleting old rows.
  sql`create index rate_limit_refusals_newest on rate_limit_refusals (refused_at, refusal_id)`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await statement.execute(db)
}
