import { describe, expect, test } from 'vitest'
import { GroupCommit } from '../../../server/domain/group-commit.ts'

class Transient extends Error {}

function createCommit(send: (items: readonly number[]) => Promise<readonly number[]>, retriesMax = 3) {
  const waits: number[] = []
  const commit = new GroupCommit<number, number>(send, {
    batchItemsMax: 4,
    retriesMax: () => retriesMax,
    isTransient: (error) => error instanceof Transient,
    wait: async (milliseconds) => {
      waits.push(milliseconds)
    },
  })
  return { commit, waits }
}

describe('group commit', () => {
  test('sends items of one turn in one batch, in arrival order, split at the maximum batch size', async () => {
    const batches: number[][] = []
    const { commit } = createCommit(async (items) => {
      batches.push([...items])
      return items.map((item) => item * 10)
    })
    const results = await Promise.all([1, 2, 3, 4, 5, 6].map((item) => commit.submit(item)))
    expect(results).toEqual([10, 20, 30, 40, 50, 60])
    expect(batches).toEqual([
      [1, 2, 3, 4],
      [5, 6],
    ])
  })

  test('collects items that arrive during a batch and sends them together', async () => {
    const batches: number[][] = []
    const gates: (() => void)[] = []
    const { commit } = createCommit(async (items) => {
      batches.push([...items])
      await new Promise<void>((resolve) => gates.push(resolve))
      return items
    })
    const first = commit.submit(1)
    await expect.poll(() => gates.length).toBe(1)
    const later = [commit.submit(2), commit.submit(3)]
    gates[0]?.()
    await first
    await expect.poll(() => gates.length).toBe(2)
    gates[1]?.()
    await Promise.all(later)
    expect(batches).toEqual([[1], [2, 3]])
  })

  test('a lost connection sends the same batch again, with growing waits', async () => {
    let calls = 0
    const { commit, waits } = createCommit(async (items) => {
      if (++calls < 3) throw new Transient('connection lost')
      return items
    })
    expect(await commit.submit(7)).toBe(7)
    expect(waits).toEqual([50, 100])
  })

  test('a connection that stays lost fails the items after the last retry', async () => {
    const { commit, waits } = createCommit(async () => {
      throw new Transient('connection lost')
    })
    await expect(Promise.all([commit.submit(1), commit.submit(2)])).rejects.toThrow('connection lost')
    expect(waits).toHaveLength(3)
    await commit.drained()
  })

  test('adds items that arrive while a batch is retried, each with a patience of its own', async () => {
    const outage = new GroupCommit<string, string>(() => Promise.reject(new Transient('connection lost')), {
      batchItemsMax: 4,
      retriesMax: (item) => (item === 'patient' ? 1_000 : 2),
      isTransient: (error) => error instanceof Transient,
      wait: () => new Promise((resolve) => setImmediate(resolve)),
    })
    let patientFailed = false
    const patient = outage.submit('patient').catch(() => (patientFailed = true))
    await expect(outage.submit('hasty')).rejects.toThrow('connection lost')
    await expect(outage.submit('hasty')).rejects.toThrow('connection lost')
    expect(patientFailed).toBe(false)
    await patient
  })

  test('an item that the database rejects fails alone', async () => {
    const { commit } = createCommit(async (items) => {
      if (items.includes(13)) throw new Error('refused')
      return items
    })
    const results = await Promise.allSettled([12, 13, 14].map((item) => commit.submit(item)))
    expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  })

  test('drained resolves only when nothing waits and nothing is in flight', async () => {
    const settled: string[] = []
    const { commit } = createCommit(async (items) => items)
    const work = commit.submit(1).then(() => settled.push('item'))
    await commit.drained()
    settled.push('drained')
    await work
    expect(settled).toEqual(['item', 'drained'])
  })
})
