import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ThrottledTask } from '../../../server/domain/throttled-task.ts'

const PACE = { intervalMs: 50, retryMs: 1_000 }

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})

afterEach(() => {
  vi.useRealTimers()
})

const pass = async (milliseconds: number) => {
  await turn()
  await vi.advanceTimersByTimeAsync(milliseconds)
  await turn()
}

test('a request after a rest runs at once, and requests of one turn run together', async () => {
  const work = vi.fn(() => true)
  const paced = new ThrottledTask(work, PACE)
  for (let time = 0; time < 3; time++) paced.request()
  expect(work).not.toHaveBeenCalled()
  await pass(0)
  expect(work).toHaveBeenCalledTimes(1)
  await pass(50)
  expect(work).toHaveBeenCalledTimes(1)
  paced.request()
  await pass(0)
  expect(work).toHaveBeenCalledTimes(2)
})

test('repeated requests run once an interval', async () => {
  const work = vi.fn(() => true)
  const paced = new ThrottledTask(work, PACE)
  for (let elapsedMs = 0; elapsedMs < 200; elapsedMs += 10) {
    paced.request()
    await pass(10)
  }
  expect(work).toHaveBeenCalledTimes(5)
})

test('work that takes longer than the interval never runs twice at a time, and requests in the meantime follow', async () => {
  const runs: (() => void)[] = []
  const paced = new ThrottledTask(() => new Promise<boolean>((resolve) => runs.push(() => resolve(true))), PACE)
  paced.request()
  await pass(0)
  paced.request()
  await pass(500)
  expect(runs).toHaveLength(1)
  runs[0]?.()
  await pass(0)
  expect(runs).toHaveLength(2)
})

test('work that failed is done again after its wait, without a request', async () => {
  const work = vi.fn(() => work.mock.calls.length > 1)
  const paced = new ThrottledTask(work, PACE)
  paced.request()
  await pass(50)
  await pass(999)
  expect(work).toHaveBeenCalledTimes(1)
  await pass(1)
  expect(work).toHaveBeenCalledTimes(2)
  await pass(2_000)
  expect(work).toHaveBeenCalledTimes(2)
})

test('a stopped task does nothing', async () => {
  const work = vi.fn(() => true)
  const paced = new ThrottledTask(work, PACE)
  paced.request()
  await pass(0)
  paced.request()
  paced.stop()
  await pass(2_000)
  expect(work).toHaveBeenCalledTimes(1)
})
