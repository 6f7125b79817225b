import { describe, expect, it } from 'vitest'
import type { AccountTier, Caller } from '../../../../server/domain/auth/caller.ts'
import { MODEL_TIERS } from '../../../../server/domain/inference/model-definition.ts'
import { LimitTable } from '../../../../server/domain/rate-limits/limit-table.ts'
import { RatePlans } from '../../../../server/domain/rate-limits/rate-plans.ts'

const plans = new RatePlans(LimitTable.parse({}))

function walletOf(tier: AccountTier): Caller {
  return { kind: 'wallet', accountId: 'account-1', keyId: null, tier, modelPrivacy: 'ALL', walletAddress: '0xabc' }
}

describe('the numbers of the specification', () => {
  it.each([
    ['standard', { XS: [500, 1_000_000], S: [75, 750_000], M: [50, 750_000], L: [20, 500_000] }],
    ['partner', { XS: [500, 2_000_000], S: [150, 1_500_000], M: [100, 1_500_000], L: [60, 1_000_000] }],
  ] as const)('hold for text models of %s accounts', (tier, numbers) => {
    for (const modelTier of MODEL_TIERS) {
      const plan = plans.planForText(walletOf(tier), { id: 'model', tier: modelTier }, 10)
      expect([plan.requests.limit, plan.tokens?.limit]).toEqual(numbers[modelTier])
      expect(plan.tierName).toBe(modelTier)
    }
  })

  it.each([
    ['image', 20, 60],
    ['audio', 60, 120],
    ['embedding', 500, 500],
    ['videoQueue', 40, 40],
    ['videoRetrieve', 120, 120],
  ] as const)('hold for requests of kind %s', (kind, standard, partner) => {
    const limitOf = (tier: AccountTier) => plans.planForRequests(walletOf(tier), { id: 'model' }, kind).requests.limit
    expect([limitOf('standard'), limitOf('partner')]).toEqual([standard, partner])
  })

  it.each([
    ['standard', 100],
    ['partner', 100],
    ['staff', 1_000],
  ] as const)('hold for RPC calls of %s accounts', (tier, requestsPerMinute) => {
    const plan = plans.planForRpc(walletOf(tier), 'base-mainnet', 45)
    expect(plan.requests).toMatchObject({ limit: requestsPerMinute, weight: 1, windowSeconds: 60 })
    expect(plan.credits).toMatchObject({ limit: 10_000_000, weight: 45, windowSeconds: 86_400 })
  })

  it('hold for key creation and management routes', () => {
    expect(plans.planForKeyCreation(walletOf('standard')).requests).toMatchObject({ limit: 20, windowSeconds: 60 })
    expect(plans.planForManagement(walletOf('standard'))).toMatchObject({ scope: 'global', requests: { limit: 600 } })
  })
})

it('counts one RPC caller over all networks and polling apart from queueing', () => {
  const rpcKey = (network: string) => plans.planForRpc(walletOf('standard'), network, 1).requests.key
  expect(rpcKey('base-mainnet')).toBe(rpcKey('solana-mainnet'))
  const videoKey = (kind: 'videoQueue' | 'videoRetrieve') =>
    plans.planForRequests(walletOf('standard'), { id: 'film' }, kind).requests.key
  expect(videoKey('videoQueue')).not.toBe(videoKey('videoRetrieve'))
})

it('never plans a negative or fractional weight', () => {
  const weightOf = (estimate: number) =>
    plans.planForText(walletOf('standard'), { id: 'model', tier: 'L' }, estimate).tokens?.weight
  expect([-5, 0, 10.2, 900_000].map(weightOf)).toEqual([0, 0, 11, 500_000])
})

it('lists the very numbers that it plans with', () => {
  const operated = new RatePlans(LimitTable.parse({ standard: { text: { L: { requestsPerMinute: 7 } } } }))
  const models = [
    { id: 'chat', type: 'text', tier: 'L' },
    { id: 'vectors', type: 'embedding', tier: 'S' },
    { id: 'voice', type: 'tts', tier: 'S' },
    { id: 'film', type: 'video', tier: 'M' },
  ] as const
  expect(operated.currentLimits({ tier: 'standard' }, models)).toEqual([
    {
      apiModelId: 'chat',
      rateLimits: [
        { type: 'RPM', amount: 7 },
        { type: 'TPM', amount: 500_000 },
      ],
    },
    { apiModelId: 'vectors', rateLimits: [{ type: 'RPM', amount: 500 }] },
    { apiModelId: 'voice', rateLimits: [{ type: 'RPM', amount: 60 }] },
    { apiModelId: 'film', rateLimits: [{ type: 'RPM', amount: 40 }] },
  ])
  expect(operated.planForText(walletOf('standard'), { id: 'chat', tier: 'L' }, 1).requests.limit).toBe(7)
})
