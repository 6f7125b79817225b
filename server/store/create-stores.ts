import type { Clock } from '../domain/clock.ts'
import type { Log } from '../domain/log.ts'
import type { PubSub } from '../domain/pub-sub.ts'
import type { WindowStore } from '../domain/rate-limits/window-store.ts'
import { FailoverWindowStore } from './failover-window-store.ts'
import { MemoryPubSub } from './memory/memory-pub-sub.ts'
import { MemoryWindowStore } from './memory/memory-window-store.ts'
import { warnOfEviction } from './redis/eviction.ts'
import { closeRedis, createRedis } from './redis/redis-client.ts'
import { RedisPubSub } from './redis/redis-pub-sub.ts'
import { RedisWindowStore } from './redis/redis-window-store.ts'

export interface Stores {
  windows: WindowStore
  pubSub: PubSub
  /** True while a configured Redis does not respond and this process limits by itself. */
  isDegraded: () => boolean
  close: () => Promise<void>
}

export interface StoreOptions {
  /** Null: everything stays in this process. */
  redisUrl: string | null
  log: Log
  clock: Pick<Clock, 'nowMs' | 'monotonicMs'>
  /** The part of a rate limit that this process admits while the shared store is unavailable. */
  shareOf: (limit: number) => number
  countRateStoreLoss: () => void
  /** Separates instances that share one Redis. */
  keyPrefix?: string
}

export async function createStores(options: StoreOptions): Promise<Stores> {
  const { redisUrl, log, clock, shareOf, countRateStoreLoss, keyPrefix = 'sluice' } = options
  if (redisUrl === null) return createMemoryStores(options)
  const [client, subscriber] = await Promise.all([createRedis(redisUrl, log), createRedis(redisUrl, log)])
  const windows = new FailoverWindowStore({
    shared: new RedisWindowStore({ client, keyPrefix }),
    clock,
    shareOf,
    log,
    countLoss: countRateStoreLoss,
  })
  client.on('reconnecting', () => windows.connectionLost(new Error('the connection to Redis broke')))
  await Promise.all([windows.start(), warnOfEviction(client, log)])
  const pubSub = new RedisPubSub({ publisher: client, subscriber, log, keyPrefix })
  return {
    windows,
    pubSub,
    isDegraded: () => windows.degraded,
    close: async () => {
      await pubSub.close()
      await windows.close()
      closeRedis(subscriber)
      closeRedis(client)
    },
  }
}

function createMemoryStores({ log, clock, shareOf }: StoreOptions): Stores {
  const windows = new MemoryWindowStore({ clock, shareOf })
  const pubSub = new MemoryPubSub(log)
  return {
    windows,
    pubSub,
    isDegraded: () => false,
    close: async () => {
      await pubSub.close()
      await windows.close()
    },
  }
}
