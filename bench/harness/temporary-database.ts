import { Client } from 'pg'
import { ENVIRONMENT } from './environment.ts'

export interface TemporaryDatabase extends AsyncDisposable {
  url: string
  name: string
  /** Settings of the server that its figures depend on. */
  settings: string
}

const DEFAULT_ADMIN_URL = 'postgres://postgres@127.0.0.1:5432/postgres'

/** Creates an empty database; dropping it also closes its connections. */
export async function createTemporaryDatabase(label = ''): Promise<TemporaryDatabase> {
  const adminUrl = ENVIRONMENT.databaseUrl ?? DEFAULT_ADMIN_URL
  const name = `sluice_bench_${process.pid}${label === '' ? '' : `_${label}`}`
  const settings = await withClient(adminUrl, async (client) => {
    await client.query(`drop database if exists ${name} with (force)`)
    await client.query(`create database ${name}`)
    const { rows } = await client.query(
      `select name, setting from pg_settings where name in ('server_version', 'fsync', 'synchronous_commit') order by name`,
    )
    return rows.map((row: { name: string; setting: string }) => `${row.name} ${row.setting}`).join(', ')
  })
  const url = new URL(adminUrl)
  url.pathname = `/${name}`
  const drop = () =>
    withClient(adminUrl, async (client) => {
      await client.query(`drop database if exists ${name} with (force)`)
    })
  return { url: url.href, name, settings, [Symbol.asyncDispose]: drop }
}

async function withClient<Result>(url: string, run: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return await run(client)
  } finally {
    await client.end()
  }
}
