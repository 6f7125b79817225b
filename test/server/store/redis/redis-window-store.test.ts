import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { closeRedis, createRedis, type RedisClient } from '../../../../server/store/redis/redis-client.ts'
import { RedisWindowStore } from '../../../../server/store/redis/redis-window-store.ts'
import { createRecordingLog } from '../../../support/recording-log.ts'
import { charge, START_MS } from '../window-fixtures.ts'

const redisUrl = inject('redisUrl')

describe.runIf(redisUrl !== null)('rate windows in Redis', () => {
  const keyPrefix = `sluice-test-${randomUUID()}`
  let client: RedisClient
  beforeAll(async () => {
    client = await createRedis(redisUrl ?? '', createRecordingLog())
  })
  afterAll(async () => {
    for await (const keys of client.scanIterator({ MATCH: `${keyPrefix}*` }))
      if (keys.length > 0) await client.unlink(keys)
    closeRedis(client)
  })

  it("name an account's windows so that they share a slot, with a layout version, and expire with the window", async () => {
    const store = new RedisWindowStore({ client, keyPrefix })
    const account = randomUUID()
    const key = (name: string) => `${account}:llama3.3:70b/{x}:${name}`
    await store.consume([charge({ key: key('requests') }), charge({ key: key('tokens') })], START_MS)
    const names = [`${key('requests')}:60`, `${key('tokens')}:60`].map(
      (name) => `${keyPrefix}:w1:${name.replace(account, `{${account}}`)}`,
    )
    expect(await client.exists(names)).toBe(2)
    const lifetime = await client.pTTL(names[0] ?? '')
    expect(lifetime).toBeGreaterThan(60_000)
    expect(lifetime).toBeLessThanOrEqual(65_000)
  })

  it('hold one limit over two processes', async () => {
    const other = await createRedis(redisUrl ?? '', createRecordingLog())
    const stores = [client, other].map((one) => new RedisWindowStore({ client: one, keyPrefix }))
    const one = charge({ limit: 50 })
    const decisions = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        stores.map((store) => store.consume([one], START_MS + (index % 7))),
      ).flat(),
    )
    closeRedis(other)
    expect(decisions.filter((decision) => decision.admitted)).toHaveLength(50)
  })

  it('decide requests that arrive together one by one, those of each account in order', async () => {
    const store = new RedisWindowStore({ client, keyPrefix })
    const accounts = [randomUUID(), randomUUID()]
    const windows = accounts.map((account) => [
      charge({ key: `${account}:requests`, limit: 5 }),
      charge({ key: `${account}:tokens`, limit: 50, weight: 20 }),
    ])
    const requests = Array.from({ length: 12 }, (_, index) => windows[index % 2]?.slice(0, 1 + (index % 3)) ?? [])
    const decisions = await Promise.all(requests.map((charges) => store.consume(charges, START_MS)))
    const admitted = decisions.map((decision) => decision.admitted)
    expect(admitted).toEqual([true, true, true, true, true, true, true, false, false, true, false, false])
  })

  it('fail alone: what stands in the way of one account leaves the others their windows', async () => {
    const store = new RedisWindowStore({ client, keyPrefix })
    await client.set(`${keyPrefix}:w1:{broken}:requests:60`, 'no window')
    const outcomes = await Promise.allSettled(
      ['broken:requests', 'whole:requests'].map((key) => store.consume([charge({ key })], START_MS)),
    )
    expect(outcomes).toMatchObject([{ status: 'rejected' }, { status: 'fulfilled', value: { admitted: true } }])
  })

  it('stay compact: a full minute window is one small hash', async () => {
    const store = new RedisWindowStore({ client, keyPrefix })
    const one = charge({ key: 'compact:requests', limit: 10_000 })
    for (let second = 0; second < 180; second += 1) await store.consume([one], START_MS + second * 1_000)
    const name = `${keyPrefix}:w1:{compact}:requests:60`
    expect(await client.hLen(name)).toBeLessThanOrEqual(124)
    expect(await client.sendCommand(['OBJECT', 'ENCODING', name])).toBe('listpack')
  })
})
