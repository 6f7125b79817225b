import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createCircuitBreaker } from '../../../../server/upstream/inference/circuit-breaker.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const succeed = async () => ({ healthy: true })
const fail = async () => ({ healthy: false })

async function openBreaker() {
  const breaker = createCircuitBreaker()
  for (let call = 0; call < 5; call += 1) await breaker.run(fail)
  return breaker
}

test('opens after five failures in a row', async () => {
  const breaker = createCircuitBreaker()
  for (let call = 0; call < 4; call += 1) await breaker.run(fail)
  await expect(breaker.run(fail)).resolves.toEqual({ healthy: false })
  await expect(breaker.run(succeed)).resolves.toBeUndefined()
})

test('a success in between starts the count again', async () => {
  const breaker = createCircuitBreaker()
  for (let call = 0; call < 4; call += 1) await breaker.run(fail)
  await breaker.run(succeed)
  for (let call = 0; call < 4; call += 1) await breaker.run(fail)
  await expect(breaker.run(succeed)).resolves.toEqual({ healthy: true })
})

test('lets one probe through after ten seconds while others still pass by', async () => {
  const breaker = await openBreaker()
  vi.advanceTimersByTime(9_999)
  await expect(breaker.run(succeed)).resolves.toBeUndefined()
  vi.advanceTimersByTime(1)
  const { promise, resolve } = Promise.withResolvers<{ healthy: boolean }>()
  const probe = breaker.run(() => promise)
  await expect(breaker.run(succeed)).resolves.toBeUndefined()
  resolve({ healthy: true })
  await probe
  await expect(breaker.run(succeed)).resolves.toEqual({ healthy: true })
})

test('a failed probe opens it for another ten seconds', async () => {
  const breaker = await openBreaker()
  vi.advanceTimersByTime(10_000)
  await expect(breaker.run(fail)).resolves.toEqual({ healthy: false })
  vi.advanceTimersByTime(9_999)
  await expect(breaker.run(succeed)).resolves.toBeUndefined()
})

test('a call aborted by its caller is not counted', async () => {
  const breaker = createCircuitBreaker()
  for (let call = 0; call < 6; call += 1) {
    await expect(breaker.run(() => Promise.reject(new Error('aborted')))).rejects.toThrow('aborted')
  }
  await expect(breaker.run(succeed)).resolves.toEqual({ healthy: true })
})
