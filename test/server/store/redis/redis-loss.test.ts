import { once } from 'node:events'
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { WindowDecision } from '../../../../server/domain/rate-limits/window-store.ts'
import { FailoverWindowStore } from '../../../../server/store/failover-window-store.ts'
import { MemoryWindowStore } from '../../../../server/store/memory/memory-window-store.ts'
import { closeRedis, createRedis } from '../../../../server/store/redis/redis-client.ts'
import { RedisPubSub } from '../../../../server/store/redis/redis-pub-sub.ts'
import { RedisWindowStore } from '../../../../server/store/redis/redis-window-store.ts'
import { createRecordingLog } from '../../../support/recording-log.ts'
import { type RedisProcess, startRedisProcess } from '../../../support/redis-process.ts'
import { charge, START_MS } from '../window-fixtures.ts'

const server = await startRedisProcess()
if (server === null) console.warn('redis-server is not installed. Tests that kill one are skipped.')

/** Forwards to a server until it is muted: open connections then carry nothing any more, new ones work. */
async function startMutableProxy(targetUrl: string) {
  const sockets = new Set<Socket>()
  const proxy = createServer((inner) => {
    const outer = createConnection(Number(new URL(targetUrl).port), '127.0.0.1')
    for (const socket of [inner, outer]) sockets.add(socket.on('error', () => {}))
    inner.pipe(outer).pipe(inner)
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const { port } = proxy.address() as AddressInfo
  return {
    url: `redis://127.0.0.1:${port}`,
    mute: () => {
      for (const socket of sockets) socket.unpipe().removeAllListeners('data').resume()
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      proxy.close()
    },
  }
}

describe.runIf(server !== null)('when Redis is lost', () => {
  let redis: RedisProcess
  beforeAll(() => {
    if (server !== null) redis = server
  })
  afterAll(() => redis.kill())

  async function connect() {
    const log = createRecordingLog()
    const client = await createRedis(redis.url, log)
    onTestFinished(() => closeRedis(client))
    return { client, log }
  }

  async function openStore() {
    const { client, log } = await connect()
    const shared = new RedisWindowStore({ client })
    return new FailoverWindowStore({ shared, local: new MemoryWindowStore(), log, countLoss: () => {} })
  }

  it('every request is answered and limited, and the shared windows serve again after its return', async () => {
    const store = await openStore()
    const one = charge({ limit: 30 })
    const burst = (): Promise<WindowDecision[]> =>
      Promise.all(Array.from({ length: 50 }, () => store.consume([{ ...one }], START_MS)))
    const admittedOf = (decisions: WindowDecision[]) => decisions.filter(({ admitted }) => admitted).length
    expect(admittedOf(await burst())).toBe(30)
    const underway = burst()
    await redis.kill()
    expect(admittedOf(await underway)).toBeLessThanOrEqual(30)
    await burst()
    expect(store.degraded).toBe(true)
    expect(admittedOf(await burst())).toBe(0)
    await redis.restart()
    await expect.poll(async () => (await burst()) && store.degraded).toBe(false)
    const fresh = charge({ limit: 30 })
    const decisions = await Promise.all(Array.from({ length: 50 }, () => store.consume([fresh], START_MS)))
    expect(admittedOf(decisions)).toBe(30)
    expect(store.degraded).toBe(false)
  })

  it('a server that hangs is treated as lost, and taken back when it answers', async () => {
    const store = await openStore()
    await store.consume([charge()], START_MS)
    redis.freeze()
    const one = charge({ limit: 5 })
    const decisions = await Promise.all(Array.from({ length: 20 }, () => store.consume([{ ...one }], START_MS)))
    expect(decisions.filter(({ admitted }) => admitted)).toHaveLength(5)
    expect(store.degraded).toBe(true)
    redis.thaw()
    await expect.poll(async () => (await store.consume([charge()], START_MS)) && store.degraded).toBe(false)
  })

  it('messages still reach the own process, and all processes after its return', async () => {
    const open = async () => {
      const [publisher, subscriber] = [await connect(), await connect()]
      return new RedisPubSub({ publisher: publisher.client, subscriber: subscriber.client, log: publisher.log })
    }
    const [here, there] = [await open(), await open()]
    const heard = { here: [] as string[], there: [] as string[] }
    await here.subscribe('balance', (message) => heard.here.push(message))
    await there.subscribe('balance', (message) => heard.there.push(message))
    await redis.kill()
    here.publish('balance', 'alone')
    await there.subscribe('late', (message) => heard.there.push(message))
    await expect.poll(() => heard.here).toEqual(['alone'])
    await redis.restart()
    await expect
      .poll(() => {
        here.publish('balance', 'again')
        here.publish('late', 'joined')
        return new Set(heard.there)
      })
      .toEqual(new Set(['again', 'joined']))
  })

  it('a connection that fell silent without closing is replaced, and its subscriptions with it', async () => {
    await using proxy = await startMutableProxy(redis.url)
    const log = createRecordingLog()
    const liveness = { probeEveryMs: 20, silenceMs: 100 }
    const publisher = (await connect()).client
    const subscriber = await createRedis(proxy.url, log, liveness)
    onTestFinished(() => closeRedis(subscriber))
    const heard: string[] = []
    await new RedisPubSub({ publisher, subscriber, log }).subscribe('quiet', (message) => heard.push(message))
    proxy.mute()
    const elsewhere = new RedisPubSub({ publisher, subscriber: publisher, log })
    await expect
      .poll(() => {
        elsewhere.publish('quiet', 'hello')
        return heard[0]
      })
      .toBe('hello')
  })

  it('a process starts without it and says so once', async () => {
    await redis.kill()
    const { client, log } = await connect()
    await expect(client.ping()).rejects.toThrow()
    expect(log.lines).toMatchObject([{ level: 'warn' }])
    await redis.restart()
    await expect.poll(() => client.isReady).toBe(true)
  })
})
