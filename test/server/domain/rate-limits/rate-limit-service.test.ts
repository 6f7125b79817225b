import { expect, it } from 'vitest'
import type { KeyCaller } from '../../../../server/domain/auth/caller.ts'
import { DomainError } from '../../../../server/domain/errors.ts'
import { LimitTable } from '../../../../server/domain/rate-limits/limit-table.ts'
import type { RatePlan } from '../../../../server/domain/rate-limits/rate-plan.ts'
import { RateLimitService } from '../../../../server/domain/rate-limits/rate-limit-service.ts'
import { RatePlans } from '../../../../server/domain/rate-limits/rate-plans.ts'
import { type Refusal, refusalsChannel } from '../../../../server/domain/rate-limits/refusal-log.ts'
import { MemoryPubSub } from '../../../../server/store/memory/memory-pub-sub.ts'
import { MemoryWindowStore } from '../../../../server/store/memory/memory-window-store.ts'
import { createFakeClock } from '../../../support/fake-clock.ts'
import { createRecordingLog } from '../../../support/recording-log.ts'

const caller: KeyCaller = {
  kind: 'key',
  accountId: 'account-1',
  keyId: 'key-1',
  keyType: 'INFERENCE',
  tier: 'standard',
  modelPrivacy: 'ALL',
  expiresAt: null,
}
const large = { id: 'large-model', tier: 'L' } as const

function setUp() {
  const clock = createFakeClock('2026-01-15T12:00:00.000Z')
  const refusals: Refusal[] = []
  const pubSub = new MemoryPubSub(createRecordingLog())
  const log = { record: (refusal: Refusal) => void refusals.push(refusal) }
  const rateLimits = new RateLimitService({ store: new MemoryWindowStore(), clock, refusals: log, pubSub })
  const refusalOf = async (plan: RatePlan): Promise<DomainError> => {
    const error = await rateLimits.admit(plan).catch((thrown: unknown) => thrown)
    if (error instanceof DomainError) return error
    throw new Error('the plan was admitted')
  }
  return { clock, refusals, pubSub, rateLimits, refusalOf, plans: new RatePlans(LimitTable.parse({})) }
}

it('admits up to the limit of the tier and says what is left', async () => {
  const { rateLimits, plans, clock } = setUp()
  const grant = await rateLimits.admit(plans.planForText(caller, large, 1_000))
  expect(grant.requests).toEqual({ limit: 20, remaining: 19, resetAtMs: clock.nowMs() + 60_000 })
  expect(grant.tokens).toEqual({ limit: 500_000, remaining: 499_000, resetAtMs: clock.nowMs() + 60_000 })
  expect(grant.credits).toBeNull()
})

it('refuses with the cap, its value and the wait, and passes after that wait', async () => {
  const { rateLimits, plans, clock, refusalOf } = setUp()
  for (let count = 0; count < 20; count += 1) await rateLimits.admit(plans.planForText(caller, large, 1))
  clock.advance(17_200)
  const error = await refusalOf(plans.planForText(caller, large, 1))
  expect(error).toMatchObject({
    code: 'rate_limited',
    message: 'Rate limit exceeded: 20 requests per minute for large-model. Try again in 43 seconds.',
    retryAfterSeconds: 43,
    limit: {
      rule: 'Rate limit exceeded: 20 requests per minute for large-model.',
      limit: 20,
      remaining: 0,
      resetAtMs: Date.parse('2026-01-15T12:01:00.000Z'),
    },
  })
  clock.advance(43_000)
  await rateLimits.admit(plans.planForText(caller, large, 1))
})

it('never tells a caller to come back in zero seconds', async () => {
  const { rateLimits, plans, clock, refusalOf } = setUp()
  const plan = { ...plans.planForKeyCreation(caller) }
  for (let count = 0; count < 20; count += 1) await rateLimits.admit(plan)
  clock.advance(59_999)
  const error = await refusalOf(plan)
  expect(error).toMatchObject({ retryAfterSeconds: 1 })
  expect(error.message).toMatch(/20 requests per minute for \/api\/v1\/api_keys\. Try again in 1 second\.$/)
})

it.each([
  ['tokens', 'TPM', '500,000 tokens per minute for large-model'],
  ['credits', 'RPD', '10,000,000 RPC credits per 24 hours for /api/v1/crypto/rpc/ethereum-mainnet'],
] as const)('records and publishes a refusal by %s as %s', async (window, rateLimitType, rule) => {
  const { rateLimits, plans, refusals, pubSub, refusalOf, clock } = setUp()
  const pushed: unknown[] = []
  await pubSub.subscribe(refusalsChannel('account-1'), (message) => pushed.push(JSON.parse(message)))
  const planOf = (weight: number) =>
    window === 'tokens'
      ? plans.planForText(caller, large, weight)
      : plans.planForRpc(caller, 'ethereum-mainnet', weight)
  await rateLimits.admit(planOf(window === 'tokens' ? 499_999 : 9_999_999))
  expect((await refusalOf(planOf(2))).message).toContain(rule)
  const refusal = {
    accountId: 'account-1',
    apiKeyId: 'key-1',
    subject: window === 'tokens' ? 'large-model' : 'endpoint:api/v1/crypto/rpc/ethereum-mainnet',
    rateLimitTier: window === 'tokens' ? 'L' : 'standard',
    rateLimitType,
  }
  expect(refusals).toEqual([{ ...refusal, at: clock.now() }])
  await expect.poll(() => pushed).toEqual([{ ...refusal, at: clock.now().toISOString() }])
})

it('gives everything back when the request was refused for another reason', async () => {
  const { rateLimits, plans } = setUp()
  rateLimits.giveBack(await rateLimits.admit(plans.planForText(caller, large, 70_000)))
  const grant = await rateLimits.admit(plans.planForText(caller, large, 1_000))
  expect([grant.requests.remaining, grant.tokens?.remaining]).toEqual([19, 499_000])
})

it.each([
  [400, 499_600],
  [90_000, 410_000],
  [1_000.2, 498_999],
])('replaces an estimate of 1,000 tokens by the %d that were used', async (tokens, remaining) => {
  const { rateLimits, plans } = setUp()
  rateLimits.correct(await rateLimits.admit(plans.planForText(caller, large, 1_000)), { tokens })
  expect((await rateLimits.peek(plans.planForText(caller, large, 0))).tokens?.remaining).toBe(remaining)
})

it('lets an estimate above the whole limit run alone, and says so of a price that cannot shrink', async () => {
  const { rateLimits, plans, refusalOf } = setUp()
  const grant = await rateLimits.admit(plans.planForText(caller, large, 3_000_000))
  expect(grant.tokens?.remaining).toBe(0)
  expect((await refusalOf(plans.planForText(caller, large, 1))).message).toContain('tokens per minute')
  const tooMuch = await refusalOf(plans.planForRpc(caller, 'ethereum-mainnet', 10_000_001))
  expect(tooMuch.retryAfterSeconds).toBeUndefined()
  expect(tooMuch.message).toMatch(/This request alone needs 10,000,001 credits: send a smaller one\.$/)
})

it('keeps accounts, models and kinds of requests apart', async () => {
  const { rateLimits, plans } = setUp()
  for (let count = 0; count < 20; count += 1) await rateLimits.admit(plans.planForText(caller, large, 1))
  await rateLimits.admit(plans.planForText(caller, { id: 'other-model', tier: 'L' }, 1))
  await rateLimits.admit(plans.planForText({ ...caller, accountId: 'account-2' }, large, 1))
  await rateLimits.admit(plans.planForManagement(caller))
  await rateLimits.admit(plans.planForKeyCreation(caller))
  const sameAccount = plans.planForText({ ...caller, keyId: 'key-2' }, large, 1)
  await expect(rateLimits.admit(sameAccount)).rejects.toMatchObject({ code: 'rate_limited' })
})
