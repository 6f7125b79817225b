import { type Kysely, sql } from 'kysely'

/** A limit may be 9,999,999,999 USD, which in nano-USD is beyond 64 bits. */
const COLUMNS = sql`alter table api_keys
  alter column limit_usd_nano type numeric(19, 0),
  alter column limit_diem_nano type numeric(19, 0)`

const FUNCTIONS = ['admit_one_hold(holds)', 'extend_hold(uuid, uuid, bigint)']

/** The functions keep a limit in a variable, which must hold it too. */
const widenVariable = (signature: string) => sql`do $do$ begin
  execute replace(pg_get_functiondef(${sql.lit(signature)}::regprocedure), 'key_limit bigint;', 'key_limit numeric;');
end $do$`

export async function up(db: Kysely<unknown>): Promise<void> {
  await COLUMNS.execute(db)
  for (const signature of FUNCTIONS) await widenVariable(signature).execute(db)
}
