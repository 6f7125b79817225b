import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { SingleUseStore } from '../../../server/domain/wallets/sign-in/single-use-store.ts'
import { MemorySingleUseStore } from '../../../server/store/memory/memory-single-use-store.ts'
import { closeRedis, createRedis, type RedisClient } from '../../../server/store/redis/redis-client.ts'
import { RedisSingleUseStore } from '../../../server/store/redis/redis-single-use-store.ts'
import { eventually } from '../../support/eventually.ts'
import { silentLog } from '../../support/key-harness.ts'

const redisUrl = inject('redisUrl')
const clients: RedisClient[] = []
afterAll(() => clients.forEach(closeRedis))

async function openRedis(keyPrefix: string): Promise<SingleUseStore> {
  const client = await createRedis(redisUrl ?? '', silentLog)
  clients.push(client)
  return new RedisSingleUseStore({ client, keyPrefix })
}

const prefix = `test-${crypto.randomUUID()}`

describe.each([
  { name: 'in the process', open: async (): Promise<SingleUseStore> => new MemorySingleUseStore(0) },
  ...(redisUrl === null ? [] : [{ name: 'in Redis', open: () => openRedis(prefix) }]),
])('keys of single use $name', ({ open }) => {
  let store: SingleUseStore
  beforeAll(async () => {
    store = await open()
  })

  test('are given to one of many that ask at once', async () => {
    const claims = await Promise.all(Array.from({ length: 50 }, () => store.claim('many', 60_000)))
    expect(claims.filter(Boolean)).toHaveLength(1)
    expect(await store.claim('other', 60_000)).toBe(true)
  })

  test('are free again after their time', async () => {
    // Both at once: the time of the first must not be over before the second asks.
    expect(await Promise.all([store.claim('short', 20), store.claim('short', 20)])).toEqual([true, false])
    await eventually(async () => expect(await store.claim('short', 60_000)).toBe(true))
  })
})

describe.runIf(redisUrl !== null)('keys of single use in Redis', () => {
  test('are of single use over all processes', async () => {
    const stores = await Promise.all([openRedis(prefix), openRedis(prefix)])
    const claims = await Promise.all(stores.map((store) => store.claim('shared', 60_000)))
    expect(claims.filter((claimed) => claimed)).toHaveLength(1)
  })

  test('are given to nobody while the server is away', async () => {
    const client = await createRedis('redis://127.0.0.1:9', silentLog)
    clients.push(client)
    const store = new RedisSingleUseStore({ client, keyPrefix: prefix })
    await expect(store.claim('lost', 60_000)).rejects.toThrow()
  })
})
