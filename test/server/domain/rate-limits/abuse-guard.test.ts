import { expect, it, vi } from 'vitest'
import { AbuseGuard } from '../../../../server/domain/rate-limits/abuse-guard.ts'
import { LimitTable } from '../../../../server/domain/rate-limits/limit-table.ts'
import { MemoryPubSub } from '../../../../server/store/memory/memory-pub-sub.ts'
import { createFakeClock } from '../../../support/fake-clock.ts'
import { createRecordingLog } from '../../../support/recording-log.ts'

const { abuse: limits } = LimitTable.parse({})

function setUp() {
  const clock = createFakeClock()
  const pubSub = new MemoryPubSub(createRecordingLog())
  const guard = new AbuseGuard({ limits, clock, pubSub })
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
  return { clock, pubSub, guard, fail, isBlocked }
}

it('blocks after more than 20 failures within 30 seconds, and nobody else', () => {
  const { guard, fail, isBlocked } = setUp()
  fail('key:a', 20)
  expect(isBlocked('key:a')).toBe(false)
  guard.recordFailure('key:a')
  expect(isBlocked('key:a')).toBe(true)
  expect(isBlocked('key:b')).toBe(false)
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

it('shares blocks with the other processes until it is closed', async () => {
  const { clock, pubSub, guard, fail } = setUp()
  const other = new AbuseGuard({ limits, clock, pubSub })
  await other.start()
  await guard.start()
  fail('key:a', 21)
  await vi.waitFor(() => expect(() => other.assertNotBlocked('key:a')).toThrow('Too many failed requests'))
  await other.close()
  pubSub.publish('abuse-blocks', 'not json')
  fail('key:b', 21)
  await Promise.resolve()
  expect(() => other.assertNotBlocked('key:b')).not.toThrow()
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

it('stays bounded under ever new names and still blocks the one that goes on', () => {
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
