import { Client } from 'pg'
import { createPostgresDatabase } from '../../server/db/database.ts'
import { migrateToLatest } from '../../server/db/migrate.ts'
import { ENVIRONMENT } from './environment.ts'
import { createTemporaryDatabase } from './temporary-database.ts'
import { generateUsage } from './usage-generator.ts'

const EVENTS = ENVIRONMENT.events
/** A database that an earlier run filled and kept, because filling takes minutes. */
const KEPT_URL = ENVIRONMENT.usageUrl

export interface UsageDatabase extends AsyncDisposable {
  url: string
  name: string
  /** The largest account. */
  accountId: string
  events: number
}

/**
 * A migrated database with generated events, 10 million unless `BENCH_EVENTS` sets another number; dropped at the end.
 */
export async function openUsageDatabase(days: number, signal: AbortSignal): Promise<UsageDatabase> {
  if (KEPT_URL) return openKept(KEPT_URL)
  const database = await createTemporaryDatabase()
  const dispose = () => database[Symbol.asyncDispose]()
  try {
    await migrate(database.url)
    const [account] = await generateUsage(database.url, { events: EVENTS, days, until: new Date(), signal })
    if (account === undefined) throw new Error('no account was generated')
    const { url, name } = database
    return { url, name, accountId: account.accountId, events: EVENTS, [Symbol.asyncDispose]: dispose }
  } catch (error) {
    await dispose()
    throw error
  }
}

async function openKept(url: string): Promise<UsageDatabase> {
  await migrate(url)
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query(
      `select account_id, sum(sum(requests)) over () as events from usage_daily group by 1 order by sum(requests) desc limit 1`,
    )
    const name = new URL(url).pathname.slice(1)
    const [{ account_id: accountId, events }] = rows
    return { url, name, accountId, events: Number(events), [Symbol.asyncDispose]: async () => {} }
  } finally {
    await client.end()
  }
}

async function migrate(url: string): Promise<void> {
  const handle = createPostgresDatabase(url)
  try {
    await migrateToLatest(handle.db)
  } finally {
    await handle.close()
  }
}
