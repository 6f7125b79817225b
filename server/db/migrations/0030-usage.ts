import { type Kysely, sql } from 'kysely'
import { HOUR_MEASURE_COLUMNS, MEASURES, measureType } from '../functions/usage-cells.ts'

const STATEMENTS = [
  // Assigned while the settlement holds the lock of the account's balance, so an account's positions rise in commit
  // order: a reader that has seen one has seen all before it.
  'create sequence usage_positions',
  `create table usage_events (
    account_id uuid not null,
    day date not null,
    request_id uuid not null,
    key_id uuid,
    currency text not null,
    sku text not null,
    model_name text not null,
    model_type text,
    unit_type text not null,
    lines json not null,
    charge_nano bigint not null check (charge_nano >= 0),
    hold_nano bigint not null check (hold_nano >= charge_nano),
    outcome text not null,
    estimated boolean not null,
    upstream_id text,
    retries integer not null,
    duration_ms integer not null,
    admitted_at timestamptz not null,
    settled_at timestamptz not null,
    position bigint default nextval('usage_positions'),
    primary key (account_id, day, request_id)
  ) partition by range (day)`,
  // The maintenance job splits off days ahead of time; this partition catches rows of all other days.
  'create table usage_events_default partition of usage_events default',
  'create index usage_events_position on usage_events (account_id, position) where position is not null',
  `create table usage_daily (
    account_id uuid not null,
    day date not null,
    key_id uuid not null,
    sku text not null,
    line_type text not null,
    currency text not null,
    model_name text not null,
    model_type text,
    unit_type text not null,
    requests bigint not null,
    units numeric not null,
    amount_nano bigint not null,
    line_requests bigint not null default 0,
    primary key (account_id, day, key_id, sku, line_type, currency)
  ) with (fillfactor = 50)`,
  // The hours, with the part before minutes 15, 30 and 45, so days of any time zone can be summed up.
  `create table usage_hourly (
    account_id uuid not null,
    hour timestamptz not null,
    key_id uuid not null,
    sku text not null,
    line_type text not null,
    currency text not null,
    model_type text,
    unit_type text not null,
    ${HOUR_MEASURE_COLUMNS},
    primary key (account_id, hour, key_id, sku, line_type, currency)
  ) partition by range (hour)`,
  'create table usage_hourly_default partition of usage_hourly default with (fillfactor = 70)',
  // Days of an account before `closed_until` are in the totals below, whose rows for later days are void. Settling a
  // request of a day before `closing_until` reopens that day, so totals never lag behind their sources.
  `create table usage_closings (
    account_id uuid primary key,
    closing_until date not null,
    closed_until date not null check (closed_until <= closing_until)
  )`,
  // Closed days, weeks and four-week spans of an account: by everything, by model with and without line types, by key,
  // and in total. Columns that a grain does not split by are empty.
  `create table usage_daily_totals (
    account_id uuid not null,
    grain text not null check (grain in ('all', 'line', 'model', 'key', 'total')),
    days integer not null check (days in (1, 7, 28)),
    starts date not null,
    key_id uuid not null,
    sku text not null,
    line_type text not null,
    unit_type text not null,
    currency text not null,
    model_name text not null,
    model_type text,
    ${MEASURES.map((measure) => `${measure} ${measureType(measure)} not null`).join(', ')},
    primary key (account_id, grain, days, starts, key_id, sku, line_type, unit_type, currency)
  )`,
  // For charts of DIEM by day, which pick a few names out of many.
  `create index usage_daily_totals_diem on usage_daily_totals (account_id, grain, sku, key_id, starts) include (amount_nano)
    where days = 1 and currency = 'diem' and grain in ('model', 'key')`,
  `create table usage_hourly_totals (
    account_id uuid not null,
    grain text not null check (grain in ('model', 'key', 'total')),
    hour timestamptz not null,
    key_id uuid not null,
    sku text not null,
    unit_type text not null,
    currency text not null,
    model_type text,
    ${HOUR_MEASURE_COLUMNS},
    primary key (account_id, grain, hour, key_id, sku, unit_type, currency)
  ) partition by range (hour)`,
  'create table usage_hourly_totals_default partition of usage_hourly_totals default',
  // The charges of deleted usage events: with them the events still add up to the ledger.
  `create table usage_expired (
    account_id uuid not null,
    key_id uuid not null,
    currency text not null,
    charge_nano bigint not null,
    primary key (account_id, key_id, currency)
  )`,
  'create type usage_line as (type text, units numeric, amount bigint)',
  // One admission as the server sends it; only a late charge has an instant, that of its original request.
  `create type admission as (
    account_id uuid,
    request_id uuid,
    key_id uuid,
    amount_nano bigint,
    admitted_at timestamptz
  )`,
  // One settlement as the server sends it; `sku` is null for a release, which charges nothing and writes no usage. The
  // usage event keeps `lines` unchanged; the roll-ups sum up the same lines as `priced`.
  `create type settlement as (
    account_id uuid,
    request_id uuid,
    currency text,
    day date,
    charge_nano bigint,
    transfer_id uuid,
    sku text,
    model_name text,
    model_type text,
    unit_type text,
    lines json,
    priced usage_line[],
    outcome text,
    estimated boolean,
    upstream_id text,
    retries integer,
    duration_ms integer
  )`,
]

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}
