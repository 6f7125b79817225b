import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { SharedWindowStore, WindowCharge } from '../../../server/domain/rate-limits/window-store.ts'
import { FailoverWindowStore } from '../../../server/store/failover-window-store.ts'
import { MemoryWindowStore } from '../../../server/store/memory/memory-window-store.ts'
import { createFakeClock } from '../../support/fake-clock.ts'
import { createRecordingLog } from '../../support/recording-log.ts'
import { charge } from './window-fixtures.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** A shared store that fails or forgets as the test says, and counts how often it was asked. */
function createFlakyStore(clock: ReturnType<typeof createFakeClock>) {
  const flaky = { failing: false, asked: 0, memory: new MemoryWindowStore({ clock }) }
  const through = <T>(work: () => Promise<T>): Promise<T> => {
    flaky.asked += 1
    return flaky.failing ? Promise.reject(new Error('connection lost')) : work()
  }
  const connect = (): SharedWindowStore => {
    let known = flaky.memory
    return {
      consume: (charges) =>
        through(async () => {
          const { booking, ...decision } = await flaky.memory.consume(charges)
          return { ...decision, booking: { sharedAtMs: booking.localAtMs, localAtMs: null } }
        }),
      adjust: (charges, { sharedAtMs }) =>
        through(() => flaky.memory.adjust(charges, { sharedAtMs: null, localAtMs: sharedAtMs })),
      peek: (charges) => through(() => flaky.memory.peek(charges)),
      probe: () =>
        through(async () => {
          const kept = known === flaky.memory
          known = flaky.memory
          return kept
        }),
      carry: (windows) =>
        through(async () => {
          for (const { bookings, ...window } of windows)
            for (const { weight } of bookings) flaky.memory.book([{ ...window, limit: 0, weight }])
        }),
      close: () => Promise.resolve(),
    }
  }
  return Object.assign(flaky, {
    connect,
    forget: () => {
      flaky.memory = new MemoryWindowStore({ clock })
    },
  })
}

function setUp({ processes = 1 } = {}) {
  const clock = createFakeClock()
  const shared = createFlakyStore(clock)
  const log = createRecordingLog()
  const countLoss = vi.fn<() => void>()
  const shareOf = (limit: number) => limit / processes
  const open = () => new FailoverWindowStore({ shared: shared.connect(), clock, shareOf, log, countLoss })
  const stores = Array.from({ length: processes }, open)
  const pass = async (ms: number) => {
    clock.advance(ms)
    await vi.advanceTimersByTimeAsync(ms)
  }
  /** How many of as many requests as the limit twice over are admitted, by each process in turn. */
  const burst = async (one: WindowCharge) => {
    const decisions = Array.from({ length: 2 * one.limit }, async (_, index) =>
      stores[index % processes]?.consume([one]),
    )
    return (await Promise.all(decisions)).filter((decision) => decision?.admitted).length
  }
  const [store = open()] = stores
  return { clock, shared, log, countLoss, store, stores, pass, burst }
}

it('limits in the process while the shared store fails', async () => {
  const { shared, store, countLoss, burst } = setUp()
  shared.failing = true
  const one = charge({ limit: 5 })
  expect(await burst(one)).toBe(5)
  expect(await store.peek([one])).toMatchObject([{ remaining: 0 }])
  expect(countLoss).toHaveBeenCalledTimes(10)
})

it('admits no more than each process has left of its share, for which it remembers what it admitted before', async () => {
  const { shared, burst, pass } = setUp({ processes: 2 })
  const [used, fresh] = [charge({ limit: 50 }), charge({ limit: 50 })]
  expect(await burst(used)).toBe(50)
  await pass(1_000)
  shared.failing = true
  expect([await burst(used), await burst(fresh)]).toEqual([0, 50])
  await pass(59_000)
  expect(await burst(used)).toBe(50)
})

it('notices the loss and the return of the shared store without any request, and reports both once', async () => {
  const { shared, store, log, pass } = setUp()
  await store.start()
  shared.failing = true
  await pass(1_000)
  expect(store.degraded).toBe(true)
  await pass(8_000)
  shared.failing = false
  await pass(250)
  expect(store.degraded).toBe(false)
  expect(log.lines.map(({ level }) => level)).toEqual(['warn', 'info'])
  await store.close()
})

it('asks the shared store for no request while it is lost', async () => {
  const { shared, store, burst } = setUp()
  shared.failing = true
  await store.consume([charge()])
  expect(await burst(charge())).toBe(10)
  expect(shared.asked).toBe(1)
})

it.each([false, true])(
  'admits nothing twice after the return of a store that forgot its windows: %s',
  async (forgot) => {
    const { shared, stores, burst, pass } = setUp({ processes: 2 })
    for (const store of stores) await store.start()
    const [before, during] = [charge({ limit: 50 }), charge({ limit: 50 })]
    expect(await burst(before)).toBe(50)
    shared.failing = true
    expect(await burst(during)).toBe(50)
    shared.failing = false
    if (forgot) shared.forget()
    await pass(1_250)
    expect(stores.map((store) => store.degraded)).toEqual([false, false])
    expect([await burst(before), await burst(during)]).toEqual([0, 0])
    await pass(10_000)
    expect([await burst(before), await burst(during), await burst(charge({ limit: 50 }))]).toEqual([0, 0, 50])
  },
)

it('keeps each process to its share for some seconds after the return, when others may not have reported yet', async () => {
  const { shared, stores, store, pass, burst } = setUp({ processes: 2 })
  const one = charge({ limit: 50 })
  shared.failing = true
  expect(await burst(one)).toBe(50)
  shared.failing = false
  // The other process finds out later.
  await store.start()
  expect(stores.map(({ degraded }) => degraded)).toEqual([false, true])
  expect(await burst(one)).toBe(0)
  await stores[1]?.start()
  await pass(5_000)
  expect([await burst(one), await burst(charge({ limit: 50 }))]).toEqual([0, 50])
})

it('restores what it admitted in a store that has forgotten its windows without a loss', async () => {
  const { shared, store, pass } = setUp()
  await store.start()
  const one = charge({ limit: 5 })
  await store.consume([{ ...one, weight: 3 }])
  shared.forget()
  await pass(1_000)
  expect(await shared.memory.peek([one])).toMatchObject([{ remaining: 2 }])
})

it('corrects each charge where it was booked', async () => {
  const { shared, store, pass } = setUp()
  await store.start()
  const before = charge({ limit: 100, weight: 40 })
  const { booking } = await store.consume([before])
  shared.failing = true
  const during = { ...before, weight: 30 }
  const alone = await store.consume([during])
  await store.adjust([{ charge: during, delta: -30 }], alone.booking)
  expect(await store.peek([before])).toMatchObject([{ remaining: 60 }])
  shared.failing = false
  await pass(1_000)
  await store.consume([{ ...before, weight: 10 }])
  await store.adjust([{ charge: before, delta: -40 }], booking)
  expect(await shared.memory.peek([before])).toMatchObject([{ remaining: 90 }])
})

it('never fails because a correction cannot be delivered', async () => {
  const { shared, store } = setUp()
  const one = charge()
  const { booking } = await store.consume([one])
  shared.failing = true
  await expect(store.adjust([{ charge: one, delta: -1 }], booking)).resolves.toBeUndefined()
  await expect(store.adjust([{ charge: one, delta: -1 }], booking)).resolves.toBeUndefined()
  expect(shared.asked).toBe(2)
})

it("keeps showing the shared store's clock while it is lost", async () => {
  const { clock, shared, store } = setUp()
  await store.consume([charge()])
  shared.failing = true
  await store.consume([charge()])
  const atMs = clock.nowMs()
  clock.advance(-3_600_000)
  const { states } = await store.consume([charge()])
  expect(states).toMatchObject([{ nowMs: atMs, resetAtMs: atMs + 60_000 }])
})
