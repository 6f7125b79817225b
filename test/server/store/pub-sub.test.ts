import { randomUUID } from 'node:crypto'
import { afterAll, describe, expect, inject, it } from 'vitest'
import type { PubSub } from '../../../server/domain/pub-sub.ts'
import { MemoryPubSub } from '../../../server/store/memory/memory-pub-sub.ts'
import { closeRedis, createRedis, type RedisClient } from '../../../server/store/redis/redis-client.ts'
import { RedisPubSub } from '../../../server/store/redis/redis-pub-sub.ts'
import { createRecordingLog } from '../../support/recording-log.ts'

const redisUrl = inject('redisUrl')
const log = createRecordingLog()
const clients: RedisClient[] = []
afterAll(() => {
  for (const client of clients) closeRedis(client)
})

async function openRedisPubSub(url: string, keyPrefix = `sluice-test-${randomUUID()}`): Promise<PubSub> {
  const [publisher, subscriber] = [await createRedis(url, log), await createRedis(url, log)]
  clients.push(publisher, subscriber)
  return new RedisPubSub({ publisher, subscriber, log, keyPrefix })
}

describe.each([
  { name: 'in the process', open: () => Promise.resolve<PubSub>(new MemoryPubSub(log)) },
  ...(redisUrl === null ? [] : [{ name: 'over Redis', open: () => openRedisPubSub(redisUrl) }]),
])('messages $name', ({ open }) => {
  it('reach every listener of their channel once, in order', async () => {
    const pubSub = await open()
    const heard: string[] = []
    await pubSub.subscribe('a', (message) => heard.push(`first ${message}`))
    await pubSub.subscribe('a', (message) => heard.push(`second ${message}`))
    await pubSub.subscribe('b', (message) => heard.push(`other ${message}`))
    pubSub.publish('a', 'one')
    pubSub.publish('a', 'two: {"x":"ü"}')
    pubSub.publish('b', 'end')
    await expect.poll(() => heard.at(-1)).toBe('other end')
    expect(heard).toEqual(['first one', 'second one', 'first two: {"x":"ü"}', 'second two: {"x":"ü"}', 'other end'])
    await pubSub.close()
  })

  it('end with the subscription, and one listener that throws keeps none from the others', async () => {
    const pubSub = await open()
    const heard: string[] = []
    const end = await pubSub.subscribe('a', () => heard.push('ended'))
    await pubSub.subscribe('a', () => {
      throw new Error('broken listener')
    })
    await pubSub.subscribe('a', (message) => heard.push(message))
    await end()
    await end()
    pubSub.publish('a', 'one')
    await expect.poll(() => heard).toEqual(['one'])
    expect(log.lines).toContainEqual(
      expect.objectContaining({ level: 'error', fields: expect.objectContaining({ channel: 'a' }) }),
    )
    await pubSub.close()
  })

  it('reach a listener again that left and came back', async () => {
    const pubSub = await open()
    const heard: string[] = []
    const end = await pubSub.subscribe('a', () => {})
    await Promise.all([end(), pubSub.subscribe('a', (message) => heard.push(message))])
    pubSub.publish('a', 'one')
    await expect.poll(() => heard).toEqual(['one'])
    await pubSub.close()
  })
})

describe.runIf(redisUrl !== null)('two processes over Redis', () => {
  it('hear each other once, and nothing after the last listener left', async () => {
    const prefix = `sluice-test-${randomUUID()}`
    const [here, there] = [await openRedisPubSub(redisUrl ?? '', prefix), await openRedisPubSub(redisUrl ?? '', prefix)]
    const heard: string[] = []
    const end = await there.subscribe('a', (message) => heard.push(message))
    here.publish('a', 'one')
    there.publish('a', 'own')
    await expect.poll(() => heard.toSorted()).toEqual(['one', 'own'])
    await end()
    const markers: string[] = []
    await there.subscribe('marker', (message) => markers.push(message))
    here.publish('a', 'two')
    here.publish('marker', 'x')
    await expect.poll(() => markers).toEqual(['x'])
    expect(heard.toSorted()).toEqual(['one', 'own'])
  })
})
