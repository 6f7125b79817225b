import type { TestProject } from 'vitest/node'
import { createTemplate, dropRun, findPostgres, type PostgresTemplate } from './postgres.ts'
import { findRedis } from './redis.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Null: no PostgreSQL answers. */
    postgres: PostgresTemplate | null
    /** Null: no Redis answers. */
    redisUrl: string | null
  }
}

/** Finds the services that tests may use. A missing one skips its tests, unless it was asked for by name. */
export async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const [postgres, redis] = await Promise.all([findPostgres(), findRedis()])
  if ('missing' in postgres) refuseIfRequired(postgres.missing, 'TEST_DATABASE_URL')
  if ('missing' in redis) refuseIfRequired(redis.missing, 'TEST_REDIS_URL')
  const template = 'missing' in postgres ? null : await createTemplate(postgres.adminUrl)
  provide('postgres', template)
  provide('redisUrl', 'missing' in redis ? null : redis.url)
  return async () => {
    if (template !== null) await dropRun(template)
  }
}

function refuseIfRequired(missing: string, variable: string): void {
  if (process.env['SLUICE_REQUIRE_SERVICES'] === '1' || process.env[variable]) throw new Error(missing)
  console.warn(`${missing}. Tests that need it are skipped.`)
}
