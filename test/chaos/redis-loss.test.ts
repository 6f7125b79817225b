import { describe, expect, inject, test } from 'vitest'
import { createTestDatabase, hasEngine } from '../support/database.ts'
import { type RedisProcess, startRedisProcess } from '../support/redis-process.ts'
import { startServerProcess } from '../support/server-process.ts'
import { auditAccount } from './audit.ts'
import { type Answer, send } from './request.ts'
import { runTraffic } from './traffic.ts'
import { startChaosUpstream } from './upstream.ts'

const CLIENTS = 12
const GRANT_NANO_USD = 10_000_000_000n
const RPC_REQUESTS_PER_MINUTE = 30

async function requireRedis(): Promise<RedisProcess> {
  const redis = await startRedisProcess()
  if (redis === null) throw new Error('there is no redis-server on this machine, though a Redis answers')
  return redis
}

/** Ways to lose a Redis, and to get it back. */
const FAULTS: { lose: (redis: RedisProcess) => unknown; restore: (redis: RedisProcess) => unknown }[] = [
  { lose: (redis) => redis.kill(), restore: (redis) => redis.restart() },
  { lose: (redis) => redis.freeze(), restore: (redis) => redis.thaw() },
]

async function sharedLimitsOf(url: string): Promise<string> {
  const response = await fetch(`${url}/health/ready`)
  const { checks } = (await response.json()) as { checks: { sharedLimits: string } }
  return `${response.status} ${checks.sharedLimits}`
}

describe.runIf(hasEngine('postgres') && inject('redisUrl') !== null)(
  'a Redis that is lost in the middle of the work',
  () => {
    test('fails no request, costs nobody money, and leaves the limits in force', async () => {
      await using upstream = await startChaosUpstream()
      await using database = await createTestDatabase('postgres')
      await using redis = await requireRedis()
      const limits = {
        ...upstream.limits,
        staff: { ...upstream.limits.staff, rpc: { requestsPerMinute: RPC_REQUESTS_PER_MINUTE } },
      }
      await using server = await startServerProcess({
        databaseUrl: database.url ?? '',
        redisUrl: redis.url,
        config: { ...upstream.config, limits },
      })
      const { accountId, adminKey } = await server.createAccount('10')
      const sender = { url: server.url, key: adminKey }

      const answers: Answer[] = []
      /** Acts in the middle of the traffic, which goes on until the server says so. */
      const trafficUntil = async (health: string, act: () => unknown): Promise<void> => {
        let acted: unknown
        do {
          const batch = await runTraffic({ requests: 100, clients: CLIENTS }, (index) => {
            if (index === CLIENTS) acted ??= act()
            return send(index % 2 === 0 ? 'chat' : 'stream', sender)
          })
          answers.push(...batch)
          await acted
        } while ((await sharedLimitsOf(server.url)) !== health)
      }

      for (const { lose, restore } of FAULTS) {
        await trafficUntil('200 degraded', () => lose(redis))
        await trafficUntil('200 ok', () => restore(redis))
      }
      await trafficUntil('200 degraded', () => redis.kill())
      const calls = await runTraffic({ requests: RPC_REQUESTS_PER_MINUTE + 20, clients: CLIENTS }, () =>
        send('rpc', sender),
      )

      expect(answers.filter(({ complete }) => !complete)).toEqual([])
      expect(calls.filter(({ status }) => status === 200)).toHaveLength(RPC_REQUESTS_PER_MINUTE)
      expect(calls.filter(({ status }) => status === 429)).toHaveLength(20)
      const account = { accountId, grantNanoUsd: GRANT_NANO_USD }
      expect(await auditAccount(database.db, account, [...answers, ...calls])).toEqual([])
    })
  },
)
