import { describe, expect, it } from 'vitest'
import type { KeyCaller } from '../../../../server/domain/caller.ts'
import { DomainError } from '../../../../server/domain/errors.ts'
import { LimitTable } from '../../../../server/domain/rate-limits/limit-table.ts'
import { RateLimitService } from '../../../../server/domain/rate-limits/rate-limit-service.ts'
import type { RatePlan } from '../../../../server/domain/rate-limits/rate-plan.ts'
import { RatePlans } from '../../../../server/domain/rate-limits/rate-plans.ts'
import type { RefusedRequest } from '../../../../server/domain/rate-limits/refusal.ts'
import type { WindowStore } from '../../../../server/domain/rate-limits/window-store.ts'
import { MemoryWindowStore } from '../../../../server/store/memory/memory-window-store.ts'
import { createFakeClock } from '../../../support/fake-clock.ts'

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
  const refusals: RefusedRequest[] = []
  const log = { record: (refusal: RefusedRequest) => void refusals.push(refusal) }
  const rateLimits = new RateLimitService({ store: new MemoryWindowStore({ clock }), clock, refusals: log })
  const refusalOf = async (plan: RatePlan): Promise<DomainError> => {
    const error = await rateLimits.admit(plan).catch((thrown: unknown) => thrown)
    if (error instanceof DomainError) return error
    throw new Error('the plan was admitted')
  }
  return { clock, refusals, rateLimits, refusalOf, plans: new RatePlans(LimitTable.parse({})) }
}

it('admits up to the limit of the tier and reports the rest', async () => {
  const { rateLimits, plans, clock } = setUp()
  const grant = await rateLimits.admit(plans.planForText(caller, large, 1_000))
  expect(grant.requests).toMatchObject({ limit: 20, remaining: 19, resetAtMs: clock.nowMs() + 60_000 })
  expect(grant.tokens).toMatchObject({ limit: 500_000, remaining: 499_000, resetAtMs: clock.nowMs() + 60_000 })
  expect(grant.credits).toBeNull()
})

it('rejects with the cap, its value and the wait, and passes after that wait', async () => {
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

it('never reports a retry in zero seconds', async () => {
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
  ['credits', 'RPD', '10,000,000 RPC credits per 24 hours for /api/v1/crypto/rpc'],
] as const)('records a rejection by %s as %s', async (window, rateLimitType, rule) => {
  const { rateLimits, plans, refusals, refusalOf } = setUp()
  const planOf = (weight: number) =>
    window === 'tokens' ? plans.planForText(caller, large, weight) : plans.planForRpc(caller, weight)
  await rateLimits.admit(planOf(window === 'tokens' ? 499_999 : 9_999_999))
  expect((await refusalOf(planOf(2))).message).toContain(rule)
  const refusal = {
    accountId: 'account-1',
    apiKeyId: 'key-1',
    subject: window === 'tokens' ? 'large-model' : 'endpoint:api/v1/crypto/rpc',
    rateLimitTier: window === 'tokens' ? 'L' : 'standard',
    rateLimitType,
  }
  expect(refusals).toEqual([refusal])
})

it('refunds everything when the request was rejected for another reason', async () => {
  const { rateLimits, plans } = setUp()
  rateLimits.refund(await rateLimits.admit(plans.planForText(caller, large, 70_000)))
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
  const tooMuch = await refusalOf(plans.planForRpc(caller, 10_000_001))
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

describe('a rejection', () => {
  it.each(['requests', 'tokens'] as const)('announces when the same request passes if %s reject it', async (window) => {
    const { rateLimits, plans, clock, refusalOf } = setUp()
    await rateLimits.admit(plans.planForText(caller, large, window === 'tokens' ? 480_000 : 1))
    clock.advance(7_300)
    const further = window === 'requests' ? 19 : 0
    for (let count = 0; count < further; count += 1) await rateLimits.admit(plans.planForText(caller, large, 1))
    clock.advance(9_100)
    const { limit, retryAfterSeconds } = await refusalOf(plans.planForText(caller, large, 30_000))
    const requests = limit?.windows?.requests
    expect(requests?.resetAtMs).toBe(Date.parse('2026-01-15T12:01:00.000Z'))
    expect(Math.ceil(((requests?.resetAtMs ?? 0) - clock.nowMs()) / 1_000)).toBe(retryAfterSeconds)
    expect(requests?.remaining).toBe(window === 'requests' ? 0 : 19)
    clock.set(new Date((requests?.resetAtMs ?? 0) - 1).toISOString())
    await refusalOf(plans.planForText(caller, large, 30_000))
    clock.advance(1)
    await rateLimits.admit(plans.planForText(caller, large, 30_000))
  })

  it('announces the end of the 24 hours if RPC credits reject it', async () => {
    const { rateLimits, plans, clock, refusalOf } = setUp()
    await rateLimits.admit(plans.planForRpc(caller, 9_999_990))
    clock.advance(3_600_000)
    const { limit } = await refusalOf(plans.planForRpc(caller, 20))
    expect(limit).toMatchObject({ limit: 10_000_000, remaining: 10 })
    expect(limit?.windows?.requests.resetAtMs).toBe(clock.nowMs() + 23 * 3_600_000)
    clock.set(new Date(limit?.windows?.requests.resetAtMs ?? 0).toISOString())
    await rateLimits.admit(plans.planForRpc(caller, 20))
  })
})

describe('limits of a key', () => {
  const limited = { ...caller, limitOverrides: { account: null, key: { text: { L: { requestsPerMinute: 2 } } } } }

  it('exist beside those of the account, in one store call', async () => {
    const { rateLimits, plans, refusals, refusalOf } = setUp()
    const grant = await rateLimits.admit(plans.planForText(limited, large, 10))
    expect(grant.plan.scope).toBe('api_key')
    expect([grant.requests.limit, grant.requests.remaining, grant.tokens?.limit]).toEqual([2, 1, 500_000])
    await rateLimits.admit(plans.planForText(limited, large, 10))
    const refused = await refusalOf(plans.planForText(limited, large, 10))
    expect(refused.message).toContain('2 requests per minute for large-model with this API key')
    expect(refusals).toMatchObject([{ apiKeyId: 'key-1', rateLimitType: 'RPM' }])
    const { requests } = await rateLimits.admit(plans.planForText({ ...caller, keyId: 'key-2' }, large, 10))
    expect(requests).toMatchObject({ limit: 20, remaining: 17 })
  })

  it('do not let the key have more than its account', async () => {
    const { rateLimits, plans, refusalOf } = setUp()
    const generous = { ...limited, limitOverrides: { account: null, key: { text: { L: { requestsPerMinute: 50 } } } } }
    for (let count = 0; count < 20; count += 1) await rateLimits.admit(plans.planForText(generous, large, 1))
    const { limit, message } = await refusalOf(plans.planForText(generous, large, 1))
    expect(message).toContain('20 requests per minute for large-model.')
    expect(limit?.windows?.requests).toMatchObject({ limit: 20, remaining: 0 })
  })

  it('are corrected and given back with the windows of the account', async () => {
    const { rateLimits, plans } = setUp()
    const key = { text: { L: { requestsPerMinute: 9, tokensPerMinute: 1_000 } }, rpc: { creditsPer24Hours: 500 } }
    const both = { ...caller, limitOverrides: { account: null, key } }
    const tokensLeft = async () =>
      (await rateLimits.fillOf([plans.planForText(both, large, 0)]))[0]?.flatMap(({ name, state }) =>
        name === 'tokens' ? [state.remaining] : [],
      )
    const grant = await rateLimits.admit(plans.planForText(both, large, 5_000))
    expect(await tokensLeft()).toEqual([495_000, 0])
    rateLimits.correct(grant, { tokens: 300 })
    expect(await tokensLeft()).toEqual([499_700, 700])
    rateLimits.correct(await rateLimits.admit(plans.planForText(both, large, 100)), { tokens: 650 })
    expect(await tokensLeft()).toEqual([499_050, 50])
    rateLimits.refund(await rateLimits.admit(plans.planForRpc(both, 400)))
    await rateLimits.admit(plans.planForRpc(both, 500))
  })
})

it('reports the use of many plans in one call of the store', async () => {
  const clock = createFakeClock()
  const store = new MemoryWindowStore({ clock })
  let calls = 0
  const counting: WindowStore = {
    consume: (charges) => store.consume(charges),
    adjust: (charges, booking) => store.adjust(charges, booking),
    peek: (charges) => {
      calls += 1
      return store.peek(charges)
    },
    close: () => store.close(),
  }
  const rateLimits = new RateLimitService({ store: counting, clock, refusals: { record: () => {} } })
  const plans = new RatePlans(LimitTable.parse({}))
  await rateLimits.admit(plans.planForText(caller, large, 1_000))
  const models = Array.from({ length: 60 }, (_, index) => ({ id: `model-${index}`, type: 'text', tier: 'M' }) as const)
  const fills = await rateLimits.fillOf(plans.plansOf(caller, [...models, { ...large, type: 'text' }]))
  expect([calls, fills.length]).toEqual([1, 64])
  expect(fills[60]?.map(({ state }) => [state.limit, state.remaining])).toEqual([
    [20, 19],
    [500_000, 499_000],
  ])
})
