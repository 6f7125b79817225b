import { describe, expect, inject, test } from 'vitest'
import { startTestApp } from '../support/app.ts'
import { hasEngine } from '../support/database.ts'
import { type Json, readEventStream } from '../support/event-stream.ts'
import { startRedisProcess } from '../support/redis-process.ts'
import { send } from './request.ts'

describe.runIf(hasEngine('postgres') && inject('redisUrl') !== null)('messages lost by Redis', () => {
  test('reach the watchers of another process once Redis is back, without any other event', async () => {
    await using redis = await startRedisProcess()
    if (redis === null) throw new Error('there is no redis-server on this machine, though a Redis answers')
    await using server = await startTestApp({ engine: 'postgres', redisUrl: redis.url })
    const twin = await server.startTwin()
    const { adminKey } = await server.createAccount()
    const watch = async (subscription: string) => {
      const response = await fetch(`${twin.url}/graphql`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${adminKey}`,
          'content-type': 'application/json',
          accept: 'text/event-stream',
        },
        body: JSON.stringify({ query: `subscription { ${subscription} }` }),
      })
      const events = readEventStream(response)
      return async (): Promise<Json> => (await events.next()).value?.data.data
    }
    const nextUsage = await watch('usageRecorded { requests { requestId } }')
    const nextBalance = await watch('balanceChanged { balances { balanceNanoUsd } }')
    expect((await nextUsage()).usageRecorded.requests).toEqual([])
    const [before] = (await nextBalance()).balanceChanged.balances

    await redis.kill()
    const answer = await send('chat', { url: server.url, key: adminKey })
    expect(answer.complete).toBe(true)
    await redis.restart()

    expect((await nextUsage()).usageRecorded.requests).toHaveLength(1)
    const [after] = (await nextBalance()).balanceChanged.balances
    expect(BigInt(after.balanceNanoUsd)).toBeLessThan(BigInt(before.balanceNanoUsd))
    await twin.close()
  })
})
