import { describe, expect, test } from 'vitest'
import { LaneRejection } from '../../../../server/domain/metering/lane-entry.ts'
import type { AdmitItem, MoneyItem, MoneyResult, SettleItem } from '../../../../server/domain/metering/money-item.ts'
import { MoneyLane } from '../../../../server/domain/metering/money-lane.ts'

type Send = (items: readonly MoneyItem[], options: { waits: boolean }) => Promise<readonly MoneyResult[]>

const PATIENT = { patienceMs: 60_000 }
const pause = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds))

function admission(accountId: string, requestId = accountId): AdmitItem {
  return { kind: 'admit', item: { accountId, requestId, keyId: null, amountNano: 1n, lateAt: null } }
}

function release(accountId: string, requestId = accountId): SettleItem {
  const item = { accountId, requestId, day: '2026-01-01', chargeNano: 0n, transferId: '', usage: null }
  return { kind: 'settle', item: { ...item, currency: 'usd' } }
}

function admitted(): MoneyResult {
  const result = { outcome: 'admitted', currency: 'usd', usdNano: 1n, diemNano: 0n, admittedAt: new Date(0) } as const
  return { kind: 'admit', result }
}

/** A lane whose database remembers the request ids of each batch. */
function createLane(send: Send) {
  const batches: { ids: string[]; waits: boolean }[] = []
  const lane = new MoneyLane({
    send: (items, options) => {
      batches.push({ ids: items.map(({ item }) => item.requestId), ...options })
      return send(items, options)
    },
    wait: pause,
  })
  return { lane, batches }
}

function rejectionOf(attempt: Promise<unknown>): Promise<unknown> {
  return attempt.then(
    () => 'done',
    (error: unknown) => (error instanceof LaneRejection ? error.reason : String(error)),
  )
}

describe('the money lane', () => {
  test('sends what arrives in one turn as one batch, in arrival order', async () => {
    const { lane, batches } = createLane(async (items) => items.map(admitted))
    await Promise.all(['a', 'b', 'c'].map((account) => lane.submit(admission(account), PATIENT)))
    expect(batches).toEqual([{ ids: ['a', 'b', 'c'], waits: false }])
  })

  test('collects what arrives while a batch is in flight', async () => {
    const gate = Promise.withResolvers<void>()
    const { lane, batches } = createLane(async (items) => {
      await gate.promise
      return items.map(admitted)
    })
    const first = lane.submit(admission('a'), PATIENT)
    await expect.poll(() => batches.length).toBe(1)
    const later = [lane.submit(admission('b'), PATIENT), lane.submit(admission('c'), PATIENT)]
    gate.resolve()
    await Promise.all([first, ...later])
    expect(batches.map(({ ids }) => ids)).toEqual([['a'], ['b', 'c']])
  })

  test('a locked account leaves the main lane, keeps the order of its items, and returns when it is free', async () => {
    const unlocked = Promise.withResolvers<void>()
    let locked = true
    const { lane, batches } = createLane(async (items, { waits }) => {
      if (waits) await unlocked.promise
      return items.map(({ item }) => (!waits && locked && item.accountId === 'locked' ? { kind: 'busy' } : admitted()))
    })
    const first = lane.submit(admission('locked', '1'), PATIENT)
    await expect.poll(() => batches.some(({ waits }) => waits)).toBe(true)
    const later = ['2', '3'].map((id) => lane.submit(admission('locked', id), PATIENT))
    await Promise.all(['a', 'b'].map((account) => lane.submit(admission(account), PATIENT)))
    expect(batches.at(-1)).toEqual({ ids: ['a', 'b'], waits: false })
    locked = false
    unlocked.resolve()
    await Promise.all([first, ...later])
    expect(batches.filter(({ waits }) => waits).map(({ ids }) => ids)).toEqual([['1'], ['2', '3']])
    await expect
      .poll(
        async () => {
          await lane.submit(admission('locked', 'again'), PATIENT)
          return batches.at(-1)
        },
        { timeout: 10_000, interval: 100 },
      )
      .toEqual({ ids: ['again'], waits: false })
  })

  test('a lock that is not had in time is waited for again', async () => {
    let waited = 0
    const { lane } = createLane(async (items, { waits }) => {
      if (!waits) return items.map(() => ({ kind: 'busy' }))
      if (waited++ < 2) throw Object.assign(new Error('canceling statement due to lock timeout'), { code: '55P03' })
      return items.map(admitted)
    })
    await lane.submit(admission('a'), PATIENT)
    expect(waited).toBe(3)
  })

  test('an item that the database rejects fails alone, and its account delays nobody afterwards', async () => {
    const { lane, batches } = createLane(async (items) => {
      if (items.some(({ item }) => item.requestId.startsWith('bad'))) throw new Error('out of range')
      return items.map(admitted)
    })
    const ids = ['1', '2', 'bad', '3', '4']
    const outcomes = await Promise.all(ids.map((id) => rejectionOf(lane.submit(admission('a', id), PATIENT))))
    expect(outcomes).toEqual(['done', 'done', 'Error: out of range', 'done', 'done'])
    const sent = batches.length
    const mixed = [admission('b'), admission('a', 'bad again'), admission('c')]
    const later = await Promise.all(mixed.map((item) => rejectionOf(lane.submit(item, PATIENT))))
    expect(later).toEqual(['done', 'Error: out of range', 'done'])
    expect(batches.slice(sent).filter(({ waits }) => !waits)).toEqual([{ ids: ['b', 'c'], waits: false }])
  })

  test('sends a batch again after a lost connection, with growing waits', async () => {
    let lost = 3
    const { lane, batches } = createLane(async (items) => {
      if (lost-- > 0) throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
      return items.map(admitted)
    })
    await lane.submit(admission('a'), PATIENT)
    expect(batches.map(({ ids }) => ids)).toEqual([['a'], ['a'], ['a'], ['a']])
  })

  test('gives items up at their deadline', async () => {
    const { lane, batches } = createLane(() => new Promise(() => {}))
    const inFlight = rejectionOf(lane.submit(admission('a'), { patienceMs: 500 }))
    await expect.poll(() => batches.length).toBe(1)
    const waiting = rejectionOf(lane.submit(admission('b'), { patienceMs: 500 }))
    expect(await Promise.all([inFlight, waiting])).toEqual(['late', 'late'])
    await lane.drained()
  })

  test('rejects admissions at once beyond 5,000 waiting, but never a settlement', async () => {
    const { lane } = createLane(() => new Promise(() => {}))
    const waiting = Array.from({ length: 5_000 }, () => rejectionOf(lane.submit(admission('a'), { patienceMs: 500 })))
    expect(await rejectionOf(lane.submit(admission('a'), PATIENT))).toEqual('full')
    expect(await rejectionOf(lane.submit(release('a'), { patienceMs: 250 }))).toBe('late')
    await Promise.all(waiting)
  })

  test('never sends the admission of a client that left while it waited', async () => {
    const gate = Promise.withResolvers<void>()
    const { lane, batches } = createLane(async (items) => {
      await gate.promise
      return items.map(admitted)
    })
    const first = lane.submit(admission('a'), PATIENT)
    await expect.poll(() => batches.length).toBe(1)
    const client = new AbortController()
    const second = rejectionOf(lane.submit(admission('b'), { ...PATIENT, signal: client.signal }))
    client.abort()
    gate.resolve()
    await first
    expect(await second).toEqual('client_left')
    expect(batches.map(({ ids }) => ids)).toEqual([['a']])
  })
})
