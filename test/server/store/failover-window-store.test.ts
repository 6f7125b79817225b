import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { WindowStore } from '../../../server/domain/rate-limits/window-store.ts'
import { FailoverWindowStore } from '../../../server/store/failover-window-store.ts'
import { MemoryWindowStore } from '../../../server/store/memory/memory-window-store.ts'
import { createRecordingLog } from '../../support/recording-log.ts'
import { charge, START_MS } from './window-fixtures.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** A shared store that answers, fails or hangs as the test says, and counts how often it was asked. */
function createFlakyStore() {
  const memory = new MemoryWindowStore()
  const flaky = { mode: 'well' as 'well' | 'failing' | 'hanging', asked: 0, memory }
  const through = <T>(work: () => Promise<T>): Promise<T> => {
    flaky.asked += 1
    if (flaky.mode === 'failing') return Promise.reject(new Error('connection lost'))
    return flaky.mode === 'hanging' ? new Promise<T>(() => {}) : work()
  }
  const store: WindowStore = {
    consume: (charges, nowMs) => through(() => memory.consume(charges, nowMs)),
    adjust: (charges, consumedAtMs) => through(() => memory.adjust(charges, consumedAtMs)),
    peek: (charges, nowMs) => through(() => memory.peek(charges, nowMs)),
    close: () => Promise.resolve(),
  }
  return Object.assign(flaky, { store })
}

function setUp() {
  const shared = createFlakyStore()
  const log = createRecordingLog()
  const countLoss = vi.fn<() => void>()
  const store = new FailoverWindowStore({ shared: shared.store, local: new MemoryWindowStore(), log, countLoss })
  return { shared, log, countLoss, store }
}

it('answers from the process within the deadline when the shared store hangs, and stops waiting for it', async () => {
  const { shared, store } = setUp()
  shared.mode = 'hanging'
  const first = store.consume([charge()], START_MS)
  await vi.advanceTimersByTimeAsync(60)
  expect((await first).admitted).toBe(true)
  await Promise.all(Array.from({ length: 20 }, () => store.consume([charge()], START_MS)))
  expect(shared.asked).toBe(1)
})

it('limits in the process while the shared store fails', async () => {
  const { shared, store, countLoss } = setUp()
  shared.mode = 'failing'
  const one = charge({ limit: 5 })
  const decisions = await Promise.all(Array.from({ length: 8 }, () => store.consume([{ ...one }], START_MS)))
  expect(decisions.filter(({ admitted }) => admitted)).toHaveLength(5)
  expect(await store.peek([one], START_MS)).toMatchObject([{ remaining: 0 }])
  expect(countLoss).toHaveBeenCalledTimes(9)
})

it('returns to the shared store by itself and says both once', async () => {
  const { shared, store, log } = setUp()
  shared.mode = 'failing'
  for (let index = 0; index < 50; index += 1) {
    await store.consume([charge()], START_MS)
    await vi.advanceTimersByTimeAsync(150)
  }
  expect(store.degraded).toBe(true)
  expect(shared.asked).toBeLessThanOrEqual(8)
  shared.mode = 'well'
  await vi.advanceTimersByTimeAsync(1_000)
  const one = charge({ limit: 5 })
  await store.consume([one], START_MS)
  expect(store.degraded).toBe(false)
  expect(await shared.memory.peek([one], START_MS)).toMatchObject([{ remaining: 4 }])
  expect(log.lines.map(({ level }) => level)).toEqual(['warn', 'info'])
})

it('corrects each charge where it was booked', async () => {
  const { shared, store } = setUp()
  const before = charge({ limit: 100, weight: 40 })
  await store.consume([before], START_MS)
  shared.mode = 'failing'
  const during = { ...before, weight: 30 }
  await store.consume([during], START_MS)
  shared.mode = 'well'
  await store.adjust([{ charge: during, delta: -30 }], START_MS)
  expect(await shared.memory.peek([before], START_MS)).toMatchObject([{ remaining: 60 }])
  await vi.advanceTimersByTimeAsync(1_000)
  await store.consume([{ ...before, weight: 10 }], START_MS)
  await store.adjust([{ charge: before, delta: -40 }], START_MS)
  expect(await shared.memory.peek([before], START_MS)).toMatchObject([{ remaining: 90 }])
})

it('never fails because a correction cannot be delivered', async () => {
  const { shared, store } = setUp()
  const one = charge()
  await store.consume([one], START_MS)
  shared.mode = 'failing'
  await expect(store.adjust([{ charge: one, delta: -1 }], START_MS)).resolves.toBeUndefined()
  await expect(store.adjust([{ charge: one, delta: -1 }], START_MS)).resolves.toBeUndefined()
  expect(shared.asked).toBe(2)
})
