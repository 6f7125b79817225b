import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { createTestDatabase, hasEngine } from '../support/database.ts'
import { startServerProcess } from '../support/server-process.ts'
import { send } from './request.ts'
import { startChaosUpstream } from './upstream.ts'

const REPORTS = 40
const CHATS = 10
const HEARTBEAT_TIMEOUT_MS = 30_000

describe.runIf(hasEngine('postgres'))('reports that wait for a locked table', () => {
  test('delay neither a chat of another account nor the heartbeat, and end with 503', async () => {
    await using upstream = await startChaosUpstream()
    await using database = await createTestDatabase('postgres')
    await using server = await startServerProcess({ databaseUrl: database.url ?? '', config: upstream.config })
    const { adminKey: reader } = await server.createAccount('10')
    const { adminKey: chatter } = await server.createAccount('10')
    const heartbeat = sql<{ at: Date }>`select heartbeat_at as at from processes`
    const before = (await heartbeat.execute(database.db)).rows[0]?.at
    const release = Promise.withResolvers<void>()
    const locked = Promise.withResolvers<void>()
    const lock = database.db.transaction().execute(async (trx) => {
      await sql`set local idle_in_transaction_session_timeout = 0`.execute(trx)
      await sql`lock table rate_limit_refusals in access exclusive mode`.execute(trx)
      locked.resolve()
      await release.promise
    })
    await locked.promise

    const headers = { authorization: `Bearer ${reader}` }
    const read = () => fetch(`${server.url}/api/v1/api_keys/rate_limits/log`, { headers })
    const reports = Promise.all(Array.from({ length: REPORTS }, async () => (await read()).status))
    const answers = await Promise.all(
      Array.from({ length: CHATS }, () => send('chat', { url: server.url, key: chatter })),
    )
    expect(answers.map(({ complete }) => complete)).toEqual(answers.map(() => true))
    expect(await reports).toEqual(Array.from({ length: REPORTS }, () => 503))
    await expect
      .poll(async () => (await heartbeat.execute(database.db)).rows[0]?.at, { timeout: HEARTBEAT_TIMEOUT_MS })
      .not.toEqual(before)

    release.resolve()
    await lock
    expect((await read()).status).toBe(200)
  })
})
