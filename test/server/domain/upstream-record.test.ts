import { expect, test } from 'vitest'
import { UpstreamRecord } from '../../../server/domain/upstream-record.ts'

test('an upstream that was never called has nothing to say', () => {
  expect(new UpstreamRecord().summary()).toEqual({
    recentCalls: 0,
    recentFailures: 0,
    latencyMsP50: null,
    latencyMsP95: null,
    lastSuccessAt: null,
    lastFailureAt: null,
    lastFailure: null,
  })
})

test('the last 100 calls count, and failures have no latency', () => {
  const record = new UpstreamRecord()
  for (let count = 0; count < 50; count += 1) record.failed(count, 'status 500')
  for (let latencyMs = 1; latencyMs <= 90; latencyMs += 1) record.succeeded(1_000, 1_000 + latencyMs)
  expect(record.summary()).toEqual({
    recentCalls: 100,
    recentFailures: 10,
    latencyMsP50: 45,
    latencyMsP95: 86,
    lastSuccessAt: new Date(1_090),
    lastFailureAt: new Date(49),
    lastFailure: 'status 500',
  })
})

test('a clock that was set back makes no negative latency, which would count as a failure', () => {
  const record = new UpstreamRecord()
  record.succeeded(2_000, 1_000)
  expect(record.summary()).toMatchObject({ recentFailures: 0, latencyMsP50: 0 })
})
