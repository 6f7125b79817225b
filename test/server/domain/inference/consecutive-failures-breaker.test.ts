import { beforeEach, expect, test } from 'vitest'
import { ConsecutiveFailuresBreaker } from '../../../../server/domain/inference/consecutive-failures-breaker.ts'
import { createFakeClock, type FakeClock } from '../../../support/fake-clock.ts'

let clock: FakeClock
beforeEach(() => {
  clock = createFakeClock()
})

const succeed = async () => ({ healthy: true })
const fail = async () => ({ healthy: false })

async function openBreaker() {
  const breaker = new ConsecutiveFailuresBreaker(clock)
  for (let call = 0; call < 5; call += 1) await breaker.run(fail)
  return breaker
}

test('opens after five failures in a row', async () => {
  const breaker = new ConsecutiveFailuresBreaker(clock)
  for (let call = 0; call < 4; call += 1) await breaker.run(fail)
  await expect(breaker.run(fail)).resolves.toEqual({ healthy: false })
  await expect(breaker.run(succeed)).resolves.toBeUndefined()
})

test('a success in between starts the count again', async () => {
  const breaker = new ConsecutiveFailuresBreaker(clock)
  for (let call = 0; call < 4; call += 1) await breaker.run(fail)
  await breaker.run(succeed)
  for (let call = 0; call < 4; call += 1) await breaker.run(fail)
  await expect(breaker.run(succeed)).resolves.toEqual({ healthy: true })
})

test('lets one probe through after ten seconds while others still pass by', async () => {
  const breaker = await openBreaker()
  clock.advance(9_999)
  await expect(breaker.run(succeed)).resolves.toBeUndefined()
  clock.advance(1)
  const { promise, resolve } = Promise.withResolvers<{ healthy: boolean }>()
  const probe = breaker.run(() => promise)
  await expect(breaker.run(succeed)).resolves.toBeUndefined()
  resolve({ healthy: true })
  await probe
  await expect(breaker.run(succeed)).resolves.toEqual({ healthy: true })
})

test('a failed probe opens it for another ten seconds', async () => {
  const breaker = await openBreaker()
  clock.advance(10_000)
  await expect(breaker.run(fail)).resolves.toEqual({ healthy: false })
  clock.advance(9_999)
  await expect(breaker.run(succeed)).resolves.toBeUndefined()
})

test('what a caller aborts is not counted', async () => {
  const breaker = new ConsecutiveFailuresBreaker(clock)
  for (let call = 0; call < 6; call += 1) {
    await expect(breaker.run(() => Promise.reject(new Error('aborted')))).rejects.toThrow('aborted')
  }
  await expect(breaker.run(succeed)).resolves.toEqual({ healthy: true })
})

test('an aborted probe decides nothing: the next call is a probe again', async () => {
  const breaker = await openBreaker()
  clock.advance(10_000)
  await expect(breaker.run(() => Promise.reject(new Error('aborted')))).rejects.toThrow('aborted')
  expect(breaker.state).toBe('open')
  await expect(breaker.run(succeed)).resolves.toEqual({ healthy: true })
  expect(breaker.state).toBe('closed')
})

test('answers of calls that began before it opened change nothing', async () => {
  const breaker = new ConsecutiveFailuresBreaker(clock)
  const late = Promise.withResolvers<{ healthy: boolean }>()
  const call = breaker.run(() => late.promise)
  for (let failure = 0; failure < 5; failure += 1) await breaker.run(fail)
  late.resolve({ healthy: true })
  await call
  await expect(breaker.run(succeed)).resolves.toBeUndefined()
})

test('a clock that is set back does not keep it open for longer', async () => {
  const breaker = await openBreaker()
  clock.advance(-3_600_000)
  await expect(breaker.run(succeed)).resolves.toEqual({ healthy: true })
})
