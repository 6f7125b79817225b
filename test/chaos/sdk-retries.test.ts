import { describe, expect, test } from 'vitest'
import { createClient } from '../../client/sdk/index.ts'
import { createTestDatabase, hasEngine, type TestDatabase } from '../support/database.ts'
import { startFlakyProxy } from '../support/flaky-proxy.ts'
import { type ServerProcess, startServerProcess } from '../support/server-process.ts'
import { auditAccount } from './audit.ts'
import { type ChaosUpstream, startChaosUpstream, untilReached } from './upstream.ts'

const GRANT_NANO_USD = 10_000_000_000n

/** A server on the database, on which every other one is dead: as 30 s after their last heartbeats. */
async function startNext(database: TestDatabase, upstream: ChaosUpstream): Promise<ServerProcess> {
  await database.db.deleteFrom('processes').execute()
  return startServerProcess({ databaseUrl: database.url ?? '', config: upstream.config })
}

describe.runIf(hasEngine('postgres'))('a call of the client whose server is killed', () => {
  test.each(['while its model answers', 'when it was charged and nobody heard of it'])(
    'is served by the next server and charged once: %s',
    async (moment) => {
      await using upstream = await startChaosUpstream()
      await using database = await createTestDatabase('postgres')
      await using first = await startNext(database, upstream)
      await using proxy = await startFlakyProxy(first.url)
      const { accountId, adminKey } = await first.createAccount('10')
      const servers: ServerProcess[] = []
      // What the client waits for before its retry is the next server.
      const wait = async (): Promise<void> => {
        await first.kill()
        servers.push(await startNext(database, upstream))
        proxy.target = servers[0]?.url ?? ''
      }
      const sluice = createClient({ baseUrl: proxy.url, apiKey: adminKey, wait })
      if (moment === 'while its model answers') {
        void untilReached(upstream, 'received', 1).then(() => first.kill())
      } else {
        proxy.fail({ kind: 'lost-answer' })
      }
      const messages = [{ role: 'user' as const, content: 'Say something.' }]
      const { response } = await sluice.chat.completions.create({ model: 'test-model', messages }).withResponse()
      expect(response.retries).toBe(1)
      const charges = await database.db
        .selectFrom('usage_events')
        .select('charge_nano')
        .where('account_id', '=', accountId)
        .where('charge_nano', '>', 0n)
        .execute()
      expect(charges).toEqual([{ charge_nano: response.cost?.nanoUsd }])
      await servers[0]?.stop()
      expect(await auditAccount(database.db, { accountId, grantNanoUsd: GRANT_NANO_USD }, [])).toEqual([])
    },
  )
})
