import { randomUUID } from 'node:crypto'
import type { WindowCharge, WindowStore } from '../../../server/domain/rate-limits/window-store.ts'
import { MemoryWindowStore } from '../../../server/store/memory/memory-window-store.ts'
import { closeRedis, createRedis } from '../../../server/store/redis/redis-client.ts'
import { RedisWindowStore } from '../../../server/store/redis/redis-window-store.ts'
import { createRecordingLog } from '../../support/recording-log.ts'

export const START_MS = Date.parse('2026-01-15T12:00:00.000Z')

export interface OpenedStore {
  store: WindowStore
  close(): Promise<void>
}

export function openMemoryStore(): Promise<OpenedStore> {
  const store = new MemoryWindowStore()
  return Promise.resolve({ store, close: () => store.close() })
}

/** A store under a key prefix of its own, which `close` empties. */
export async function openRedisStore(url: string): Promise<OpenedStore> {
  const client = await createRedis(url, createRecordingLog())
  const keyPrefix = `sluice-test-${randomUUID()}`
  return {
    store: new RedisWindowStore({ client, keyPrefix }),
    close: async () => {
      for await (const keys of client.scanIterator({ MATCH: `${keyPrefix}:*`, COUNT: 1_000 })) {
        if (keys.length > 0) await client.unlink(keys)
      }
      closeRedis(client)
    },
  }
}

/** A charge on a window that no other test uses. */
export function charge(values: Partial<WindowCharge> = {}): WindowCharge {
  return { key: `${randomUUID()}:model:requests`, limit: 10, windowSeconds: 60, buckets: 61, weight: 1, ...values }
}

export interface Admission {
  atMs: number
  weight: number
}

/** The most that was admitted in any span of one window's length. */
export function worstSpan(admissions: readonly Admission[], windowMs: number): number {
  const sorted = admissions.toSorted((a, b) => a.atMs - b.atMs)
  let first = 0
  let sum = 0
  let worst = 0
  for (const { atMs, weight } of sorted) {
    sum += weight
    while ((sorted[first]?.atMs ?? atMs) <= atMs - windowMs) {
      sum -= sorted[first]?.weight ?? 0
      first += 1
    }
    worst = Math.max(worst, sum)
  }
  return worst
}
