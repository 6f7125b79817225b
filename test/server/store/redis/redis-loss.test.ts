import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../../../server/domain/clock.ts'
import type { WindowCharge } from '../../../../server/domain/rate-limits/window-store.ts'
import { FailoverWindowStore } from '../../../../server/store/failover-window-store.ts'
import { warnOfEviction } from '../../../../server/store/redis/eviction.ts'
import { closeRedis, createRedis } from '../../../../server/store/redis/redis-client.ts'
import { RedisPubSub } from '../../../../server/store/redis/redis-pub-sub.ts'
import { RedisWindowStore } from '../../../../server/store/redis/redis-window-store.ts'
import { createRecordingLog } from '../../../support/recording-log.ts'
import { type RedisProcess, startRedisProcess } from '../../../support/redis-process.ts'
import { charge } from '../window-fixtures.ts'

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

describe.runIf(server !== null)('a process that loses Redis', () => {
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

  /** Processes that share the server, each with its share of the limits. */
  async function openStores(count: number) {
    const keyPrefix = `test-${randomUUID()}`
    const open = async () => {
      const { client, log } = await connect()
      const shared = new RedisWindowStore({ client, keyPrefix })
      const shareOf = (limit: number) => limit / count
      const store = new FailoverWindowStore({ shared, clock: systemClock, shareOf, log, countLoss: () => {} })
      client.on('reconnecting', () => store.connectionLost(new Error('broken')))
      await store.start()
      onTestFinished(() => store.close())
      return store
    }
    const stores = await Promise.all(Array.from({ length: count }, open))
    return {
      stores,
      /** How many of 100 requests, spread over the processes, are admitted. */
      burst: async (one: WindowCharge): Promise<number> => {
        const decisions = Array.from({ length: 100 }, async (_, index) => stores[index % count]?.consume([one]))
        return (await Promise.all(decisions)).filter((decision) => decision?.admitted).length
      },
      untilDegraded: (degraded: boolean) =>
        expect.poll(() => stores.every((store) => store.degraded === degraded), { timeout: 10_000 }).toBe(true),
    }
  }

  it('notices a server that ended or hangs, and its return, without a request', async () => {
    const { untilDegraded } = await openStores(2)
    await redis.kill()
    await untilDegraded(true)
    await redis.restart()
    await untilDegraded(false)
    redis.freeze()
    await untilDegraded(true)
    redis.thaw()
    await untilDegraded(false)
  })

  it('admits exactly the limit over two processes before, during and after the loss of a server without a memory', async () => {
    const { burst, untilDegraded } = await openStores(2)
    const [before, during] = [charge({ limit: 30 }), charge({ limit: 30 })]
    expect(await burst(before)).toBe(30)
    await redis.kill()
    expect([await burst(during), await burst(before)]).toEqual([30, 0])
    await redis.restart()
    await untilDegraded(false)
    expect([await burst(during), await burst(before), await burst(charge({ limit: 30 }))]).toEqual([0, 0, 30])
  })

  it('decides in the process soon after the server begins to hang, and never admits more than the limit', async () => {
    const { burst, untilDegraded } = await openStores(2)
    const [used, fresh] = [charge({ limit: 30 }), charge({ limit: 30 })]
    await burst(used)
    redis.freeze()
    expect([await burst(fresh), await burst(used)]).toEqual([30, 0])
    redis.thaw()
    await untilDegraded(false)
    expect([await burst(fresh), await burst(used), await burst(charge({ limit: 30 }))]).toEqual([0, 0, 30])
  })

  it('warns at the start if the server may evict windows', async () => {
    const { client, log } = await connect()
    await warnOfEviction(client, log)
    const warnings = () => log.lines.filter(({ fields }) => fields?.['maxmemoryPolicy'] !== undefined)
    expect(warnings()).toEqual([])
    await client.configSet({ maxmemory: '100mb', 'maxmemory-policy': 'allkeys-lru' })
    await warnOfEviction(client, log)
    expect(warnings()).toMatchObject([{ level: 'warn', fields: { maxmemoryPolicy: 'allkeys-lru' } }])
    await client.configSet({ maxmemory: '0' })
  })

  it('delivers messages to its own listeners at once, and to all processes after the return', async () => {
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

  it('replaces a connection that fell silent without closing, with its subscriptions', async () => {
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

  it('starts without Redis and logs that once', async () => {
    await redis.kill()
    const { client, log } = await connect()
    await expect(client.ping()).rejects.toThrow()
    expect(log.lines).toMatchObject([{ level: 'warn' }])
    await redis.restart()
    await expect.poll(() => client.isReady).toBe(true)
  })
})
