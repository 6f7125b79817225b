import { randomUUID } from 'node:crypto'
import type {
  WindowCharge,
  WindowDecision,
  WindowState,
  WindowStore,
} from '../../../server/domain/rate-limits/window-store.ts'
import { MemoryWindowStore } from '../../../server/store/memory/memory-window-store.ts'
import { closeRedis, createRedis } from '../../../server/store/redis/redis-client.ts'
import { RedisWindowStore } from '../../../server/store/redis/redis-window-store.ts'
import { createRecordingLog } from '../../support/recording-log.ts'

export const START_MS = Date.parse('2026-01-15T12:00:00.000Z')

/** A clock that says what a test sets. */
export function createSettableClock(atMs = START_MS) {
  const clock = { atMs, nowMs: () => clock.atMs, monotonicMs: () => clock.atMs }
  return clock
}

/** A store whose calls say at which instant they happen. */
export interface TimedStore {
  consume(charges: readonly WindowCharge[], atMs: number): Promise<WindowDecision>
  peek(charges: readonly WindowCharge[], atMs: number): Promise<WindowState[]>
  adjust: WindowStore['adjust']
}

export interface OpenedStore {
  store: TimedStore
  close(): Promise<void>
}

export function openMemoryStore(): Promise<OpenedStore> {
  const clock = createSettableClock()
  const store = new MemoryWindowStore({ clock })
  return Promise.resolve({ store: toTimedStore(store, clock), close: () => store.close() })
}

/** Both stores read the clock before a call returns its promise, so that calls at different instants may overlap. */
export function toTimedStore(store: WindowStore, clock: { atMs: number }): TimedStore {
  const at = (atMs: number): WindowStore => {
    clock.atMs = atMs
    return store
  }
  return {
    consume: (charges, atMs) => at(atMs).consume(charges),
    peek: (charges, atMs) => at(atMs).peek(charges),
    adjust: (charges, booking) => store.adjust(charges, booking),
  }
}

/** A store under a key prefix of its own, which `close` empties. */
export async function openRedisStore(url: string): Promise<OpenedStore> {
  const client = await createRedis(url, createRecordingLog())
  const keyPrefix = `sluice-test-${randomUUID()}`
  const clock = createSettableClock()
  return {
    store: toTimedStore(new RedisWindowStore({ client, keyPrefix, clock }), clock),
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
