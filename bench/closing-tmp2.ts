import { Client } from 'pg'
import { createPostgresDatabase } from '../server/db/database.ts'
import { migrateToLatest } from '../server/db/migrate.ts'
import { createIdSource } from '../server/domain/ids.ts'
import { systemClock } from '../server/domain/clock.ts'
import { UsageClosing } from '../server/domain/usage/usage-closing.ts'
import { UsageClosingRepository } from '../server/domain/usage/usage-closing-repository.ts'
const url = 'postgres://postgres@127.0.0.1:5432/vf_closing2'
const admin = new Client({ connectionString: 'postgres://postgres@127.0.0.1:5432/postgres' })
await admin.connect()
await admin.query('drop database if exists vf_closing2 with (force)')
await admin.query('create database vf_closing2')
const h = createPostgresDatabase(url)
await migrateToLatest(h.db)
const c = new Client({ connectionString: url })
await c.connect()
const N = Number(process.argv[2] ?? 100000),
  DAYS = Number(process.argv[3] ?? 1)
await c.query(`set synchronous_commit=off`)
await c.query(
  `insert into accounts (account_id,name,kind,tier,created_at) select gen_random_uuid(),'x','user','standard',now() from generate_series(1,${N})`,
)
await c.query(`insert into balances (account_id,currency) select account_id,'usd' from accounts`)
await c.query(`insert into usage_daily (account_id,day,key_id,sku,line_type,currency,model_name,model_type,unit_type,requests,units,amount_nano,line_requests)
 select account_id, (now() at time zone 'UTC')::date - d, account_id, 'model-'||m, l, 'usd','Model','LLM','tokens',5,100,1000,5 from accounts, generate_series(1,${DAYS}) d, generate_series(1,2) m, unnest(array['Input','Output']) l`)
await c
  .query(
    `insert into usage_hourly select account_id, (((now() at time zone 'UTC')::date - d)::timestamp + hh * interval '1 hour') at time zone 'UTC', account_id, 'model-'||m, l, 'usd','LLM','tokens',5,0,0,0,5,0,0,0,100,0,0,0,1000,0,0,0 from accounts, generate_series(1,${DAYS}) d, generate_series(1,2) m, unnest(array['Input','Output']) l, unnest(array[9,15]) hh`,
  )
  .catch((e) => console.log(e.message))
await c.query('vacuum analyze')
if (process.argv[5]) {
  await c.query(
    "load 'auto_explain'; set auto_explain.log_min_duration=4; set auto_explain.log_analyze=on; set auto_explain.log_nested_statements=on; set client_min_messages=log",
  )
  c.on('notice', (n) => console.log(n.message))
  const ids = (await c.query('select account_id from accounts order by 1 limit 200')).rows.map((r) => r.account_id)
  for (const q of [
    "select count(*) from begin_closing($1,(now() at time zone 'UTC')::date,false)",
    'select count(*) from finish_closing($1)',
  ]) {
    const t = Date.now()
    await c.query(q, [ids])
    console.log(q, Date.now() - t)
  }
  process.exit()
}
const processes = Number(process.argv[4] ?? 1)
const t = Date.now()
await Promise.all(
  Array.from({ length: processes }, () =>
    new UsageClosing({
      closings: new UsageClosingRepository(h.db),
      clock: systemClock,
      ids: createIdSource(systemClock),
    }).closeDays(),
  ),
)
console.log(`closed ${N} accounts x ${DAYS} days by ${processes}: ${(Date.now() - t) / 1000} s`)
const t2 = Date.now()
await new UsageClosing({
  closings: new UsageClosingRepository(h.db),
  clock: systemClock,
  ids: createIdSource(systemClock),
}).closeDays()
console.log('idle', Date.now() - t2, 'ms')
console.log(
  (await c.query('select count(*), min(closed_until), max(closed_until) from usage_closings')).rows,
  (await c.query('select count(*) from usage_daily_totals')).rows,
  (await c.query('select count(*) from usage_hourly_totals')).rows,
)
await c.end()
await h.close()
await admin.query('drop database vf_closing2 with (force)')
await admin.end()
