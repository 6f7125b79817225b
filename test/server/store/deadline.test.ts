import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { DeadlineExceeded, withDeadline } from '../../../server/store/deadline.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'] })
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

const never = new Promise<never>(() => {})

it('passes on what arrives in time, good or bad', async () => {
  expect(await withDeadline(Promise.resolve('answer'), 50)).toBe('answer')
  await expect(withDeadline(Promise.reject(new Error('refused')), 50)).rejects.toThrow('refused')
  expect(vi.getTimerCount()).toBe(0)
})

it('gives up at the deadline', async () => {
  const outcome = withDeadline(never, 50).catch((error: unknown) => error)
  await vi.advanceTimersByTimeAsync(60)
  expect(await outcome).toBeInstanceOf(DeadlineExceeded)
})

it('does not count the time in which this process stood still, but not for ever', async () => {
  let stallMs = 200
  const clock = performance.now.bind(performance)
  // A stall shows as a timer that fires late: the clock has moved on further than the timer asked.
  vi.spyOn(performance, 'now').mockImplementation(() => clock() + stallMs++ * 20)
  let ended = false
  const outcome = withDeadline(never, 50).catch(() => {
    ended = true
  })
  await vi.advanceTimersByTimeAsync(60)
  expect(ended).toBe(false)
  await vi.advanceTimersByTimeAsync(300)
  await outcome
  expect(ended).toBe(true)
})
