import { type Kysely, sql } from 'kysely'

const STATEMENTS = [
  sql`create table idempotency_records (
    account_id uuid not null,
    key text not null,
    fingerprint bytea not null,
    state text not null check (state in ('in_progress', 'answered', 'done')),
    process_id uuid,
    request_id uuid not null,
    created_at timestamptz not null,
    expires_at timestamptz not null,
    status integer,
    headers json,
    charge json,
    body bytea,
    body_bytes bigint,
    chunk_count integer,
    replays integer not null default 0,
    primary key (account_id, key)
  ) with (fillfactor = 70)`,
  sql`create index idempotency_records_expiry on idempotency_records (expires_at)`,
  sql`create table idempotency_chunks (
    account_id uuid not null,
    key text not null,
    request_id uuid not null,
    position integer not null,
    content bytea not null,
    primary key (account_id, key, request_id, position),
    foreign key (account_id, key) references idempotency_records on delete cascade
  )`,
  // Sealed bytes do not compress.
  sql`alter table idempotency_records alter column body set storage external`,
  sql`alter table idempotency_chunks alter column content set storage external`,
  sql`create index idempotency_records_request on idempotency_records (account_id, request_id)`,
  sql`create table idempotency_storage (
    account_id uuid primary key,
    bytes bigint not null check (bytes >= 0)
  ) with (fillfactor = 70)`,
  sql`create table idempotency_written (
    account_id uuid not null,
    expires_at timestamptz not null,
    bytes bigint not null,
    primary key (account_id, expires_at)
  ) with (fillfactor = 70)`,
  sql`create index idempotency_written_expiry on idempotency_written (expires_at)`,
  sql`create table idempotency_total (
    only_row boolean primary key check (only_row),
    bytes bigint not null check (bytes >= 0)
  )`,
  sql`insert into idempotency_total values (true, 0)`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await statement.execute(db)
}
