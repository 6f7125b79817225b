import { randomUUID } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, expect, it, vi } from 'vitest'
import { MemoryWindowStore } from '../../../server/store/memory/memory-window-store.ts'
import { createFakeClock } from '../../support/fake-clock.ts'
import { charge, START_MS } from './window-fixtures.ts'

afterEach(() => {
  vi.useRealTimers()
})

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

function heapBytes(): number {
  collectGarbage()
  return process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers
}

it.each([-86_400_000, 86_400_000])('limits exactly while the wall clock is set by %i ms', async (ms) => {
  const clock = { wallMs: START_MS, elapsedMs: 0, nowMs: () => clock.wallMs, monotonicMs: () => clock.elapsedMs }
  const store = new MemoryWindowStore({ clock })
  const one = charge({ limit: 10, weight: 8 })
  await store.consume([one])
  clock.wallMs += ms
  expect(await store.consume([one])).toMatchObject({
    admitted: false,
    retryAtMs: START_MS + ms + 60_000,
    states: [{ nowMs: START_MS + ms }],
  })
  clock.elapsedMs += 60_000
  expect(await store.consume([one])).toMatchObject({ admitted: true })
})

it('keeps the windows of busy callers while many idle ones come and go', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const clock = createFakeClock()
  const store = new MemoryWindowStore({ clock })
  const busy = charge({ limit: 10_000 })
  for (let count = 1; count <= 5_000; count += 1) {
    clock.advance(5)
    vi.advanceTimersByTime(5)
    await store.consume([busy, charge()])
    expect((await store.peek([busy]))[0]?.remaining).toBe(10_000 - count)
  }
})

it('keeps 200,000 windows of 100,000 accounts in at most 60 MB and forgets them when they are empty', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const clock = createFakeClock()
  const store = new MemoryWindowStore({ clock })
  const before = heapBytes()
  for (let account = 0; account < 100_000; account += 1) {
    const id = randomUUID()
    await store.consume([
      { key: `${id}:llama-3.3-70b:requests`, limit: 50, windowSeconds: 60, buckets: 61, weight: 1 },
      { key: `${id}:llama-3.3-70b:tokens`, limit: 750_000, windowSeconds: 60, buckets: 61, weight: 1_234 },
    ])
  }
  expect((heapBytes() - before) / 1e6).toBeLessThan(60)
  clock.advance(60_000)
  vi.advanceTimersByTime(30_000)
  expect((heapBytes() - before) / 1e6).toBeLessThan(5)
  expect(vi.getTimerCount()).toBe(0)
})

it('admits its share of a limit alone, and all of one that the database enforces', async () => {
  const store = new MemoryWindowStore({ clock: createFakeClock(), shareOf: (limit) => limit / 2 })
  const admittedOf = async (values: Parameters<typeof charge>[0]) => {
    const one = charge(values)
    const decisions = await Promise.all(Array.from({ length: 30 }, () => store.consume([one])))
    return decisions.filter(({ admitted }) => admitted).length
  }
  expect(await admittedOf({ limit: 20 })).toBe(10)
  expect(await admittedOf({ limit: 20, enforcedByDatabase: true })).toBe(20)
})

it('rejects a weight above its share until the window is over, and promises nothing to one above the limit', async () => {
  const clock = createFakeClock()
  const store = new MemoryWindowStore({ clock, shareOf: (limit) => limit / 2 })
  const large = charge({ limit: 100, weight: 60 })
  expect(await store.consume([large])).toMatchObject({ admitted: false, retryAtMs: clock.nowMs() + 60_000 })
  expect(await store.consume([{ ...large, weight: 101 }])).toMatchObject({ admitted: false, retryAtMs: null })
})
