import { array, assert, asyncProperty, constant, constantFrom, integer, nat, record, sample } from 'fast-check'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { WindowBooking, WindowCharge } from '../../../server/domain/rate-limits/window-store.ts'
import { repeats } from '../../support/soak.ts'
import {
  type Admission,
  charge,
  openMemoryStore,
  openRedisStore,
  START_MS,
  type TimedStore,
  worstSpan,
} from './window-fixtures.ts'

const redisUrl = inject('redisUrl')
const DAY = { windowSeconds: 86_400, buckets: 1_441 }

function instantOf({ sharedAtMs, localAtMs }: WindowBooking): number | null {
  return sharedAtMs ?? localAtMs
}

function bookingAt(atMs: number): WindowBooking {
  return { sharedAtMs: atMs, localAtMs: atMs }
}

describe.each([
  { name: 'in the process', open: openMemoryStore },
  ...(redisUrl === null ? [] : [{ name: 'in Redis', open: () => openRedisStore(redisUrl) }]),
])('rate windows $name', ({ open }) => {
  let store: TimedStore
  let close: () => Promise<void>
  beforeAll(async () => {
    ;({ store, close } = await open())
  })
  afterAll(() => close())

  const consume = (one: WindowCharge, atMs: number) => store.consume([one], atMs)
  const remaining = async (one: WindowCharge, atMs: number) => (await store.peek([one], atMs))[0]?.remaining

  /** Requests at the given distances; what was admitted, by the caller's clock. */
  async function run(one: WindowCharge, steps: readonly { gapMs: number; weight: number }[]): Promise<Admission[]> {
    const admissions: Admission[] = []
    let atMs = START_MS
    for (const { gapMs, weight } of steps) {
      atMs += gapMs
      if ((await consume({ ...one, weight }, atMs)).admitted) admissions.push({ atMs, weight })
    }
    return admissions
  }

  it('never admit more than the limit in any span of the window, whatever the bursts', async () => {
    const scenario = integer({ min: 10, max: 1_000 }).chain((limit) =>
      record({
        limit: constant(limit),
        windowSeconds: constantFrom(1, 10, 60, 300),
        steps: array(
          record({ part: constantFrom(0, 0, 0, 1, 16, 30, 59, 60), weight: integer({ min: 1, max: limit }) }),
          { minLength: 20, maxLength: 120 },
        ),
        jitter: array(integer({ min: 0, max: 40 }), { minLength: 120, maxLength: 120 }),
      }),
    )
    await assert(
      asyncProperty(scenario, async ({ limit, windowSeconds, steps, jitter }) => {
        const windowMs = windowSeconds * 1_000
        const moves = steps.map(({ part, weight }, index) => ({
          gapMs: Math.floor((part * windowMs) / 60) + (jitter[index] ?? 0),
          // Small weights fill a window in many places, large ones probe its edge.
          weight: index % 4 === 0 ? weight : Math.ceil(weight / 10),
        }))
        const admissions = await run(charge({ limit, windowSeconds }), moves)
        expect(worstSpan(admissions, windowMs)).toBeLessThanOrEqual(limit)
      }),
      { numRuns: repeats(20, { soak: 200 }) },
    )
  })

  it.each([0.9, 1, 1.5, 2])('admit at least 98 % of what a load of %f times the limit may have', async (load) => {
    for (const [limit, windowSeconds] of [
      [10, 10],
      [20, 60],
      [100, 60],
    ] as const) {
      const one = charge({ limit, windowSeconds })
      const spanMs = windowSeconds * 1_000 * 6
      const count = Math.round(limit * load * 6)
      const steps = Array.from({ length: count }, () => ({ gapMs: spanMs / count, weight: 1 }))
      const admitted = await run(one, steps)
      expect(admitted.length).toBeGreaterThanOrEqual(0.98 * Math.min(count, limit * 6))
      expect(worstSpan(admitted, windowSeconds * 1_000)).toBeLessThanOrEqual(limit)
    }
  })

  it('admit exactly the limit of requests that arrive at once', async () => {
    const one = charge({ limit: 50 })
    const decisions = await Promise.all(Array.from({ length: 200 }, () => consume(one, START_MS)))
    expect(decisions.filter(({ admitted }) => admitted)).toHaveLength(50)
  })

  it('take from all windows of a request or from none', async () => {
    const requests = charge({ limit: 5 })
    const tokens = charge({ limit: 100, weight: 60 })
    const first = await store.consume([requests, tokens], START_MS)
    expect(first).toMatchObject({ admitted: true, refusedBy: null, retryAtMs: null })
    expect(instantOf(first.booking)).toBe(START_MS)
    expect(first.states.map((state) => state.remaining)).toEqual([4, 40])
    const second = await store.consume([requests, tokens], START_MS)
    expect(second).toMatchObject({ admitted: false, refusedBy: 1 })
    expect(second.states.map((state) => state.remaining)).toEqual([4, 40])
    expect(await remaining(requests, START_MS)).toBe(4)
  })

  it('name the window that rejects the longest, so that the wait holds for the whole request', async () => {
    const minute = charge({ limit: 1 })
    const day = charge({ ...DAY, limit: 1 })
    await store.consume([minute, day], START_MS)
    const refusal = await store.consume([minute, day], START_MS + 1)
    expect(refusal.refusedBy).toBe(1)
    expect(await store.consume([minute, day], (refusal.retryAtMs ?? 0) - 1)).toMatchObject({ admitted: false })
    expect(await store.consume([minute, day], refusal.retryAtMs ?? 0)).toMatchObject({ admitted: true })
  })

  it('reject a weight above the limit without promising a time', async () => {
    const one = charge({ limit: 10, weight: 11 })
    expect(await consume(one, START_MS)).toMatchObject({ admitted: false, refusedBy: 0, retryAtMs: null })
    expect(await consume({ ...one, weight: 10 }, START_MS)).toMatchObject({ admitted: true })
  })

  it('name the earliest instant at which the same weight fits', async () => {
    const one = charge({ limit: 100 })
    await consume({ ...one, weight: 20 }, START_MS)
    await consume({ ...one, weight: 10 }, START_MS + 300)
    await consume({ ...one, weight: 40 }, START_MS + 5_000)
    await consume({ ...one, weight: 30 }, START_MS + 9_000)
    const refusalOf = async (weight: number) => (await consume({ ...one, weight }, START_MS + 20_000)).retryAtMs
    expect(await refusalOf(30)).toBe(START_MS + 60_300)
    expect(await refusalOf(31)).toBe(START_MS + 65_000)
    expect(await refusalOf(71)).toBe(START_MS + 69_000)
    expect(await consume({ ...one, weight: 31 }, START_MS + 64_999)).toMatchObject({ admitted: false })
    expect(await consume({ ...one, weight: 31 }, START_MS + 65_000)).toMatchObject({ admitted: true })
  })

  it('announce a reset after which a request passes, in 1,000 random states', async () => {
    const moves = array(record({ gapMs: nat(9_000), weight: integer({ min: 1, max: 40 }) }), {
      minLength: 1,
      maxLength: 12,
    })
    const states = sample(moves, { numRuns: 1_000, seed: 7 })
    const passed = await Promise.all(
      states.map(async (steps) => {
        const one = charge({ limit: 60 })
        await run(one, steps)
        const atMs = START_MS + steps.reduce((sum, { gapMs }) => sum + gapMs, 0)
        const last = await consume({ ...one, weight: 25 }, atMs)
        const resetAtMs = last.states[0]?.resetAtMs ?? 0
        const empty = last.admitted && (await remaining(one, resetAtMs)) === 60
        return (last.admitted ? empty : resetAtMs > atMs) && (await consume({ ...one, weight: 25 }, resetAtMs)).admitted
      }),
    )
    expect(passed.filter((good) => good)).toHaveLength(1_000)
  })

  it('refund and take more where an estimate was wrong, in the bucket that holds it', async () => {
    const one = charge({ limit: 100, weight: 50 })
    const { booking } = await consume(one, START_MS)
    await consume({ ...one, weight: 10 }, START_MS + 30_000)
    await store.adjust([{ charge: one, delta: -45 }], booking)
    expect(await remaining(one, START_MS + 30_000)).toBe(85)
    await store.adjust([{ charge: one, delta: 65 }], booking)
    expect(await remaining(one, START_MS + 30_000)).toBe(20)
    expect(await remaining(one, START_MS + 60_000)).toBe(90)
  })

  it('remain at nothing when a correction exceeds the limit, until the window has room again', async () => {
    const one = charge({ limit: 100, weight: 50 })
    const { booking } = await consume(one, START_MS)
    await store.adjust([{ charge: one, delta: 500 }], booking)
    expect(await remaining(one, START_MS)).toBe(0)
    expect(await consume({ ...one, weight: 1 }, START_MS)).toMatchObject({
      admitted: false,
      retryAtMs: START_MS + 60_000,
    })
  })

  it('never fall below zero and ignore corrections of what has left the window', async () => {
    const one = charge({ limit: 100, weight: 20 })
    const early = await consume(one, START_MS)
    await store.adjust([{ charge: one, delta: -500 }], early.booking)
    expect(await remaining(one, START_MS)).toBe(100)
    await consume(one, START_MS + 60_000)
    await store.adjust([{ charge: one, delta: 30 }], early.booking)
    await store.adjust([{ charge: one, delta: -20 }], early.booking)
    await store.adjust([{ charge: one, delta: 30 }], bookingAt(START_MS + 120_000))
    expect(await remaining(one, START_MS + 60_000)).toBe(80)
    await store.adjust([{ charge: charge(), delta: 5 }], bookingAt(START_MS))
  })

  it('empty completely after long silence', async () => {
    const one = charge({ limit: 10, weight: 10 })
    await consume(one, START_MS)
    expect(await store.peek([one], START_MS + 86_400_000)).toEqual([
      { limit: 10, remaining: 10, resetAtMs: START_MS + 86_400_000, nowMs: START_MS + 86_400_000 },
    ])
    expect(await consume(one, START_MS + 86_400_000)).toMatchObject({ admitted: true, states: [{ remaining: 0 }] })
  })

  it('keep a cap over any 24 hours, in minutes', async () => {
    const one = charge({ ...DAY, limit: 10_000_000 })
    const random = sample(record({ gapMs: nat(5_400_000), weight: integer({ min: 1, max: 1_500_000 }) }), {
      numRuns: 150,
      seed: 11,
    })
    const admissions = await run(one, random)
    expect(admissions.length).toBeLessThan(150)
    expect(worstSpan(admissions, 86_400_000)).toBeLessThanOrEqual(10_000_000)
    const full = charge({ ...DAY, limit: 10_000_000, weight: 10_000_000 })
    await consume(full, START_MS)
    expect(await consume({ ...full, weight: 1 }, START_MS + 86_399_999)).toMatchObject({
      admitted: false,
      retryAtMs: START_MS + 86_400_000,
    })
    expect(await consume({ ...full, weight: 1 }, START_MS + 86_400_000)).toMatchObject({ admitted: true })
  })
})
