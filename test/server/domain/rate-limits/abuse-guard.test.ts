import { expect, it } from 'vitest'
import { DomainError } from '../../../../server/domain/errors.ts'
import { createIdSource } from '../../../../server/domain/ids.ts'
import { AbuseGuard } from '../../../../server/domain/rate-limits/abuse-guard.ts'
import { LimitTable } from '../../../../server/domain/rate-limits/limit-table.ts'
import type { RefusedRequest } from '../../../../server/domain/rate-limits/refusal.ts'
import { MemoryPubSub } from '../../../../server/store/memory/memory-pub-sub.ts'
import { eventually } from '../../../support/eventually.ts'
import { createFakeClock } from '../../../support/fake-clock.ts'
import { createRecordingLog } from '../../../support/recording-log.ts'

const { abuse: limits } = LimitTable.parse({})

function setUp() {
  const clock = createFakeClock()
  const pubSub = new MemoryPubSub(createRecordingLog())
  const refused: RefusedRequest[] = []
  const refusals = { record: (refusal: RefusedRequest) => void refused.push(refusal) }
  const createGuard = () => new AbuseGuard({ limits, clock, ids: createIdSource(clock), pubSub, refusals })
  const guard = createGuard()
  const fail = (subject: string, times: number) => {
    for (let count = 0; count < times; count += 1) guard.recordFailure(subject)
  }
  const isBlocked = (subject: string) => {
    try {
      guard.assertNotBlocked(subject)
      return false
    } catch {
      return true
    }
  }
  return { clock, pubSub, createGuard, guard, fail, isBlocked, refused }
}

it('blocks after more than 20 failures within 30 seconds, and nobody else', () => {
  const { guard, fail, isBlocked } = setUp()
  fail('key:a', 20)
  expect(isBlocked('key:a')).toBe(false)
  guard.recordFailure('key:a')
  expect(isBlocked('key:a')).toBe(true)
  expect(isBlocked('key:b')).toBe(false)
})

it('counts wrong credentials against their address, and no other failure', () => {
  const { guard, isBlocked } = setUp()
  for (let count = 0; count < 30; count += 1) {
    guard.blameAddress('192.0.2.1', new DomainError('forbidden', 'suspended'))
    guard.blameAddress('192.0.2.1', new Error('lost'))
  }
  expect(isBlocked('ip:192.0.2.1')).toBe(false)
  const wrong = (['unauthenticated', 'sign_in_refused'] as const).map((code) => new DomainError(code, 'wrong'))
  for (let count = 0; count < 21; count += 1) guard.blameAddress('192.0.2.1', wrong[count % 2])
  expect(() => guard.blameAddress('192.0.2.1', wrong[0])).toThrow(expect.objectContaining({ code: 'abuse_blocked' }))
  expect(isBlocked('ip:192.0.2.2')).toBe(false)
})

it('says how long to wait, counting down, and lets the caller in after 30 seconds with a clean sheet', () => {
  const { clock, guard, fail, isBlocked } = setUp()
  fail('wallet:0xabc', 21)
  clock.advance(12_500)
  expect(() => guard.assertNotBlocked('wallet:0xabc')).toThrow(
    expect.objectContaining({
      code: 'abuse_blocked',
      message: expect.stringContaining('Too many failed requests: wait 30 seconds'),
      retryAfterSeconds: 18,
    }),
  )
  clock.advance(17_500)
  expect(isBlocked('wallet:0xabc')).toBe(false)
  fail('wallet:0xabc', 20)
  expect(isBlocked('wallet:0xabc')).toBe(false)
})

it('forgets failures that are older than 30 seconds', () => {
  const { clock, fail, isBlocked } = setUp()
  for (let round = 0; round < 10; round += 1) {
    fail('key:a', 10)
    clock.advance(15_000)
  }
  expect(isBlocked('key:a')).toBe(false)
})

it('does not prolong a block by requests that fail during it', () => {
  const { clock, fail, isBlocked } = setUp()
  fail('key:a', 21)
  clock.advance(29_999)
  fail('key:a', 50)
  expect(isBlocked('key:a')).toBe(true)
  clock.advance(1)
  expect(isBlocked('key:a')).toBe(false)
})

it('counts the failures of all processes together, until it is closed', async () => {
  const { pubSub, createGuard, guard, fail, isBlocked } = setUp()
  const other = createGuard()
  await Promise.all([guard.start(), other.start()])
  for (let count = 0; count < 10; count += 1) other.recordFailure('key:a')
  fail('key:a', 11)
  expect(isBlocked('key:a')).toBe(false)
  await eventually(() => {
    expect(isBlocked('key:a')).toBe(true)
    expect(() => other.assertNotBlocked('key:a')).toThrow('Too many failed requests')
  })
  await other.close()
  pubSub.publish('failed-requests', 'not json')
  fail('key:b', 21)
  await eventually(() => expect(isBlocked('key:b')).toBe(true))
  expect(() => other.assertNotBlocked('key:b')).not.toThrow()
})

it('blocks in a process that missed some of the failures, as one that started later did', async () => {
  const { createGuard, guard, fail } = setUp()
  await guard.start()
  fail('key:a', 15)
  const late = createGuard()
  await late.start()
  fail('key:a', 6)
  await eventually(() => expect(() => late.assertNotBlocked('key:a')).toThrow('Too many failed requests'))
  await Promise.all([guard.close(), late.close()])
})

it('counts each failure once, though it hears its own messages', async () => {
  const { pubSub, guard, fail, isBlocked } = setUp()
  await guard.start()
  const told = new Promise((resolve) => void pubSub.subscribe('failed-requests', resolve))
  fail('key:a', 20)
  await told
  expect(isBlocked('key:a')).toBe(false)
  await guard.close()
})

it("logs what a block rejects under the caller's account, in every process", async () => {
  const { createGuard, guard, refused } = setUp()
  const other = createGuard()
  await Promise.all([guard.start(), other.start()])
  const caller = { accountId: 'account-1', keyId: 'key-1', tier: 'partner' } as const
  for (let count = 0; count < 21; count += 1) guard.recordFailure('key:key-1', caller)
  expect(() => guard.assertNotBlocked('key:key-1')).toThrow()
  await eventually(() => expect(() => other.assertNotBlocked('key:key-1')).toThrow())
  const refusal = {
    accountId: 'account-1',
    apiKeyId: 'key-1',
    subject: 'model:unknown',
    rateLimitTier: 'partner',
    rateLimitType: 'FAILED_REQUESTS',
  }
  expect(refused).toEqual([refusal, refusal])
  await Promise.all([guard.close(), other.close()])
})

it.each([
  ['2001:db8:1:2:aaaa::1', '2001:db8:1:2:bbbb:cccc:dddd:eeee', true],
  ['2001:db8::1', '2001:db8:0:0:ffff::9', true],
  ['2001:db8:1:2::1', '2001:db8:1:3::1', false],
  ['::ffff:203.0.113.7', '203.0.113.7', true],
  ['203.0.113.7', '203.0.113.8', false],
])('takes the addresses %s and %s for one sender: %s', (first, second, same) => {
  const { fail, isBlocked } = setUp()
  fail(`ip:${first}`, 21)
  expect(isBlocked(`ip:${second}`)).toBe(same)
})

it('stays bounded under ever new names and still blocks the one that continues', () => {
  const { fail, isBlocked } = setUp()
  for (let index = 0; index < 30_000; index += 1) {
    fail(`ip:10.0.${index >> 8}.${index & 255}`, 1)
    if (index % 1_000 === 0) fail('ip:192.0.2.1', 1)
  }
  expect(isBlocked('ip:192.0.2.1')).toBe(true)
})

it('does not keep a caller out because the clock was set back', () => {
  const { clock, fail, isBlocked } = setUp()
  fail('key:a', 21)
  clock.advance(-3_600_000)
  expect(isBlocked('key:a')).toBe(false)
})
