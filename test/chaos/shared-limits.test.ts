import { describe, expect, inject, test } from 'vitest'
import type { App } from '../../server/app/create-app.ts'
import { startTestApp, testModels } from '../support/app.ts'
import { createTestDatabase, hasEngine } from '../support/database.ts'
import { GraphqlSocket } from '../support/graphql-socket.ts'
import { startRedisProcess } from '../support/redis-process.ts'
import { startServerProcess } from '../support/server-process.ts'
import { repeats } from '../support/soak.ts'
import { send } from './request.ts'
import { startChaosUpstream } from './upstream.ts'

const LIMIT = 50
const AT_ONCE = 200
const ROUNDS = repeats(1, { soak: 5 })

async function requireRedis() {
  const redis = await startRedisProcess()
  if (redis === null) throw new Error('there is no redis-server on this machine, though a Redis answers')
  return redis
}

function limitsOf(requestsPerMinute: number) {
  const text = { requestsPerMinute, tokensPerMinute: 100_000_000 }
  return { staff: { text: { XS: text, S: text, M: text, L: text }, rpc: { requestsPerMinute } } }
}

/** Requests that arrive at once, spread over the processes; how many were admitted. */
async function burst(urls: readonly string[], key: string): Promise<number> {
  const requests = Array.from({ length: AT_ONCE }, (_, index) =>
    send('rpc', { url: urls[index % urls.length] ?? '', key }),
  )
  const answers = await Promise.all(requests)
  expect(answers.map(({ status }) => status).filter((status) => status !== 200 && status !== 429)).toEqual([])
  return answers.filter(({ status }) => status === 200).length
}

describe.runIf(hasEngine('postgres') && inject('redisUrl') !== null)('limits of two busy processes', () => {
  test('hold exactly with a healthy Redis, within its shares without, and across its return', async () => {
    await using upstream = await startChaosUpstream()
    await using redis = await requireRedis()
    await using database = await createTestDatabase('postgres')
    const options = {
      databaseUrl: database.url ?? '',
      redisUrl: redis.url,
      config: { ...upstream.config, limits: { ...upstream.limits, ...limitsOf(LIMIT) } },
    }
    await using left = await startServerProcess(options)
    await using right = await startServerProcess(options)
    const urls = [left.url, right.url]
    const freshKey = async () => (await left.createAccount('10')).adminKey
    const ready = async () => {
      const states = urls.map(async (url) => {
        const { checks } = (await (await fetch(`${url}/health/ready`)).json()) as { checks: { sharedLimits: string } }
        return checks.sharedLimits
      })
      return (await Promise.all(states)).join()
    }

    for (let round = 0; round < ROUNDS; round += 1) expect(await burst(urls, await freshKey())).toBe(LIMIT)

    const [before, during] = [await freshKey(), await freshKey()]
    expect(await burst(urls, before)).toBe(LIMIT)
    await redis.kill()
    expect(await burst(urls, before)).toBe(0)
    expect(await burst(urls, during)).toBe(LIMIT)
    expect(await burst(urls, await freshKey())).toBe(LIMIT)
    await redis.restart()
    await expect.poll(ready, { timeout: 10_000 }).toBe('ok,ok')
    expect([await burst(urls, before), await burst(urls, during)]).toEqual([0, 0])
    expect(await burst(urls, await freshKey())).toBe(LIMIT)
  })

  test('block a key that failed too often on both', async () => {
    await using redis = await requireRedis()
    await using server = await startTestApp({ engine: 'postgres', redisUrl: redis.url })
    const twin = await server.startTwin()
    const chat = async (url: string, key: string, model: string) => {
      const response = await fetch(`${url}/api/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }] }),
      })
      await response.arrayBuffer()
      return response.status
    }
    for (let round = 0; round < ROUNDS; round += 1) {
      const { adminKey } = await server.createAccount()
      for (let count = 0; count < 21; count += 1) {
        await chat([server.url, twin.url][count % 2] ?? '', adminKey, 'no-such-model')
      }
      await expect.poll(() => chat(server.url, adminKey, 'test-model')).toBe(429)
      await expect.poll(() => chat(twin.url, adminKey, 'test-model')).toBe(429)
    }
    await twin.close()
  })

  test('do not count failures of the service or of its upstream as abuse', async () => {
    await using server = await startTestApp({
      file: { models: testModels(), limits: limitsOf(1_000), rpc: { publicNodes: false } },
    })
    await server.provider.close()
    const { adminKey } = await server.createAccount()
    const statuses = []
    for (let count = 0; count < 25; count += 1) {
      statuses.push((await send('chat', { url: server.url, key: adminKey })).status)
    }
    expect(statuses.filter((status) => status === null || status < 500)).toEqual([])
  })
})

describe.runIf(hasEngine('postgres') && inject('redisUrl') !== null)('a socket', () => {
  test.each(['revoked', 'of a suspended account', 'expired'])(
    'closes within 5 seconds when its key is %s while Redis is lost',
    async (how) => {
      await using redis = await requireRedis()
      await using server = await startTestApp({ engine: 'postgres', redisUrl: redis.url })
      const twin: App = await server.startTwin()
      const { accountId, adminKey } = await server.createAccount()
      const {
        access: { apiKeys, auth },
        accounts,
      } = server.app.services
      const { keyId } = await auth.authenticateKey(adminKey)
      const socket = await GraphqlSocket.open(`${twin.url.replace('http', 'ws')}/graphql`, adminKey)
      await redis.kill()
      if (how === 'revoked') await apiKeys.revoke(accountId, keyId)
      else if (how === 'expired') await apiKeys.update(accountId, { id: keyId, expiresAt: new Date(Date.now() + 200) })
      else await accounts.suspend(accountId, 'test')
      await expect.poll(() => socket.webSocket.readyState, { timeout: 5_000 }).toBe(WebSocket.CLOSED)
      expect((await socket.closed).code).toBe(4403)
      await twin.close()
    },
  )
})
