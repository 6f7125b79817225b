import { randomBytes } from 'node:crypto'
import { Client } from 'pg'
import { createPostgresDatabase } from '../../server/db/database.ts'
import { migrateToLatest } from '../../server/db/migrate.ts'
import { trustProcessClock } from './process-clock.ts'

/** A migrated database that tests clone, and the connection that may create more of them. */
export interface PostgresTemplate {
  adminUrl: string
  /** Begins the name of every database of this run. */
  runName: string
  templateName: string
}

const DEFAULT_ADMIN_URL = 'postgres://postgres@127.0.0.1:5432/test'
const CONNECT_TIMEOUT_MS = 3_000
const VERSION_MIN = 150_000

export async function findPostgres(): Promise<{ adminUrl: string } | { missing: string }> {
  const adminUrl = process.env['TEST_DATABASE_URL'] || DEFAULT_ADMIN_URL
  try {
    const version = await withAdmin(adminUrl, (client) => client.query('show server_version_num'))
    const number = Number(version.rows[0].server_version_num)
    return number >= VERSION_MIN
      ? { adminUrl }
      : { missing: `PostgreSQL is version ${number}, older than ${VERSION_MIN}` }
  } catch (error) {
    return { missing: `PostgreSQL does not answer at ${withoutPassword(adminUrl)}: ${String(error)}` }
  }
}

/** Begins the names of all databases of one run. */
export function createRunName(): string {
  return `sluice_test_${process.pid}_${randomBytes(4).toString('hex')}`
}

export async function createTemplate(adminUrl: string): Promise<PostgresTemplate> {
  const runName = process.env['SLUICE_TEST_RUN'] || createRunName()
  const templateName = `${runName}_template`
  await withAdmin(adminUrl, (client) => client.query(`create database ${templateName}`))
  const { jobs, close } = createPostgresDatabase(urlOf(adminUrl, templateName))
  try {
    await migrateToLatest(jobs)
    await trustProcessClock(jobs)
  } finally {
    await close()
  }
  return { adminUrl, runName, templateName }
}

/** Clones the template; the answer is the URL of a database that nobody else uses. */
export async function cloneTemplate(template: PostgresTemplate): Promise<string> {
  return createEmptyDatabase(template, template.templateName)
}

/** A database of this run; without a template of ours it has no tables. */
export async function createEmptyDatabase(
  { adminUrl, runName }: PostgresTemplate,
  templateName = 'template0',
): Promise<string> {
  const name = `${runName}_${process.pid}_${randomBytes(4).toString('hex')}`
  await withAdmin(adminUrl, async (client) => {
    await client.query(`create database ${name} template ${templateName}`)
    // Commits wait for no disk: what survives a crash of PostgreSQL is tested on clusters of their own.
    await client.query(`alter database ${name} set synchronous_commit = off`)
  })
  return urlOf(adminUrl, name)
}

export async function dropDatabase(adminUrl: string, url: string): Promise<void> {
  const name = new URL(url).pathname.slice(1)
  await withAdmin(adminUrl, (client) => client.query(`drop database if exists ${name} with (force)`))
}

/** Drops the template and whatever a crashed test of this run left behind. */
export async function dropRun({ adminUrl, runName }: Pick<PostgresTemplate, 'adminUrl' | 'runName'>): Promise<void> {
  await withAdmin(adminUrl, async (client) => {
    const left = await client.query('select datname from pg_database where starts_with(datname, $1)', [`${runName}_`])
    for (const { datname } of left.rows) await client.query(`drop database if exists ${datname} with (force)`)
  })
}

async function withAdmin<Result>(url: string, run: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS })
  await client.connect()
  try {
    return await run(client)
  } finally {
    await client.end()
  }
}

function urlOf(adminUrl: string, name: string): string {
  const url = new URL(adminUrl)
  url.pathname = `/${name}`
  return url.href
}

function withoutPassword(url: string): string {
  return url.replace(/:[^:@/]*@/, ':…@')
}
