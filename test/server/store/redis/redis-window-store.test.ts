import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { closeRedis, createRedis, type RedisClient } from '../../../../server/store/redis/redis-client.ts'
import { RedisWindowStore } from '../../../../server/store/redis/redis-window-store.ts'
import { createRecordingLog } from '../../../support/recording-log.ts'
import { type Admission, charge, createSettableClock, START_MS, toTimedStore } from '../window-fixtures.ts'

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

  const openTimed = () => {
    const clock = createSettableClock()
    return toTimedStore(new RedisWindowStore({ client, keyPrefix, clock }), clock)
  }

  it("name an account's windows so that they share a slot, with a layout version, and expire with the window", async () => {
    const store = new RedisWindowStore({ client, keyPrefix })
    const account = randomUUID()
    const key = (name: string) => `${account}:llama3.3:70b/{x}:${name}`
    await store.consume([charge({ key: key('requests') }), charge({ key: key('tokens') })])
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
      Array.from({ length: 100 }, () => stores.map((store) => store.consume([one]))).flat(),
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
    const decisions = await Promise.all(requests.map((charges) => store.consume(charges)))
    const admitted = decisions.map((decision) => decision.admitted)
    expect(admitted).toEqual([true, true, true, true, true, true, true, false, false, true, false, false])
  })

  it('fail separately: a broken window of one account leaves the others intact', async () => {
    const store = new RedisWindowStore({ client, keyPrefix })
    await client.set(`${keyPrefix}:w1:{broken}:requests:60`, 'no window')
    const outcomes = await Promise.allSettled(
      ['broken:requests', 'whole:requests'].map((key) => store.consume([charge({ key })])),
    )
    expect(outcomes).toMatchObject([{ status: 'rejected' }, { status: 'fulfilled', value: { admitted: true } }])
  })

  it('stay compact: a full minute window is one small hash', async () => {
    const store = openTimed()
    const one = charge({ key: 'compact:requests', limit: 10_000 })
    for (let second = 0; second < 180; second += 1) await store.consume([one], START_MS + second * 1_000)
    const name = `${keyPrefix}:w1:{compact}:requests:60`
    expect(await client.hLen(name)).toBeLessThanOrEqual(124)
    expect(await client.sendCommand(['OBJECT', 'ENCODING', name])).toBe('listpack')
  })

  it("follow the server's clock, whatever the clock of the process says", async () => {
    const store = new RedisWindowStore({ client, keyPrefix })
    const one = charge({ limit: 3 })
    const serverMs = Number(await client.time().then(([seconds]) => seconds)) * 1_000
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const admitted = []
    for (const dayMs of [0, 86_400_000, -86_400_000, 300_000, -300_000]) {
      vi.setSystemTime(serverMs + dayMs)
      const decision = await store.consume([one])
      admitted.push(decision.admitted)
      const [state] = decision.states
      expect(Math.abs((state?.nowMs ?? 0) - serverMs)).toBeLessThan(30_000)
      expect((state?.resetAtMs ?? 0) - (state?.nowMs ?? 0)).toBeLessThanOrEqual(60_000)
    }
    expect(admitted).toEqual([true, true, true, false, false])
  })

  it("do not move while the server's clock is set back, by more than the window until the window has passed", async () => {
    const store = openTimed()
    const late = charge({ limit: 10, weight: 6 })
    await store.consume([late], START_MS)
    const back = await store.consume([{ ...late, weight: 4 }], START_MS - 59_000)
    expect(back).toMatchObject({ admitted: true, booking: { sharedAtMs: START_MS } })
    await store.adjust([{ charge: late, delta: -4 }], back.booking)
    expect(await store.peek([late], START_MS - 59_000)).toMatchObject([{ remaining: 4 }])
    const backMs = START_MS - 86_400_000
    expect(await store.consume([late], backMs)).toMatchObject({ admitted: false, retryAtMs: backMs + 60_000 })
    expect(await store.consume([late], backMs + 60_000)).toMatchObject({ admitted: true })
  })

  it('take over what processes admitted by themselves, each booking at its age', async () => {
    const clock = createSettableClock()
    const store = new RedisWindowStore({ client, keyPrefix, clock })
    const one = charge({ limit: 100 })
    const carried = [
      [
        { ageMs: 70_000, weight: 50 },
        { ageMs: 59_000, weight: 10 },
        { ageMs: 20_000, weight: 20 },
      ],
      [
        { ageMs: 40_300, weight: 5 },
        { ageMs: 20_100, weight: 7 },
      ],
      [],
    ]
    clock.atMs = START_MS - 30_000
    await store.consume([{ ...one, weight: 8 }])
    clock.atMs = START_MS
    for (const bookings of carried) await store.carry([{ ...one, bookings }])
    const left = async (afterMs: number) => {
      clock.atMs = START_MS + afterMs
      return (await store.peek([one]))[0]?.remaining
    }
    expect([await left(0), await left(1_000), await left(19_700)]).toEqual([50, 60, 65])
    expect([await left(30_000), await left(39_899), await left(40_000)]).toEqual([73, 73, 100])
  })

  it('count nothing twice and forget nothing early, in whatever order bookings are taken over', async () => {
    const clock = createSettableClock()
    const store = new RedisWindowStore({ client, keyPrefix, clock })
    for (let round = 0; round < 30; round += 1) {
      const one = charge({ limit: 100_000, windowSeconds: 10 })
      const booked: Admission[] = []
      clock.atMs = START_MS
      for (let step = 0; step < 60; step += 1) {
        clock.atMs += Math.floor(Math.random() * 800)
        const bookings = [9_000, 4_000, 0].map((ageMs) => ({
          ageMs: Math.max(0, ageMs - (step % 5)),
          weight: step + 1,
        }))
        if (step % 10 === 7) await store.carry([{ ...one, bookings }])
        else bookings.splice(0, 3, { ageMs: 0, weight: (await store.consume([one])).admitted ? 1 : 0 })
        booked.push(...bookings.map(({ ageMs, weight }) => ({ atMs: clock.atMs - ageMs, weight })))
        const [state] = await store.peek([one])
        const counted = one.limit - (state?.remaining ?? 0)
        const since = (ms: number) =>
          booked.filter(({ atMs }) => atMs > clock.atMs - ms).reduce((sum, { weight }) => sum + weight, 0)
        // A bucket counts as a whole until its latest booking has left the window.
        expect(counted).toBeGreaterThanOrEqual(since(10_000))
        expect(counted).toBeLessThanOrEqual(since(10_000 + 167))
      }
    }
  })
})
