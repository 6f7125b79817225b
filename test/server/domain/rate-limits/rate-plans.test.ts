import { describe, expect, it } from 'vitest'
import type { AccountTier, Caller } from '../../../../server/domain/caller.ts'
import { MODEL_TIERS } from '../../../../server/domain/catalogue/model-definition.ts'
import { LimitTable } from '../../../../server/domain/rate-limits/limit-table.ts'
import { RatePlans } from '../../../../server/domain/rate-limits/rate-plans.ts'
import { keyCaller } from '../../../support/callers.ts'

const plans = new RatePlans(LimitTable.parse({}))

function walletOf(tier: AccountTier): Caller {
  return {
    kind: 'wallet',
    accountId: 'account-1',
    keyId: null,
    tier,
    modelPrivacy: 'ALL',
    walletChain: 'evm',
    walletAddress: '0xabc',
  }
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
    expect([limitOf('standard'), limitOf('partner'), limitOf('staff')]).toEqual([standard, partner, partner])
  })

  it.each([
    ['standard', 100],
    ['partner', 100],
    ['staff', 1_000],
  ] as const)('hold for RPC calls of %s accounts', (tier, requestsPerMinute) => {
    const plan = plans.planForRpc(walletOf(tier), 45)
    expect(plan.requests).toMatchObject({ limit: requestsPerMinute, weight: 1, windowSeconds: 60 })
    expect(plan.credits).toMatchObject({ limit: 10_000_000, weight: 45, windowSeconds: 86_400 })
  })

  it('hold for key creation and management routes', () => {
    expect(plans.planForKeyCreation(walletOf('standard')).requests).toMatchObject({ limit: 20, windowSeconds: 60 })
    expect(plans.planForManagement(walletOf('standard'))).toMatchObject({ scope: 'global', requests: { limit: 600 } })
  })
})

it('counts polling for a video apart from queueing it', () => {
  const videoKey = (kind: 'videoQueue' | 'videoRetrieve') =>
    plans.planForRequests(walletOf('standard'), { id: 'film' }, kind).requests.key
  expect(videoKey('videoQueue')).not.toBe(videoKey('videoRetrieve'))
})

it('never plans a negative or fractional weight', () => {
  const weightOf = (estimate: number) =>
    plans.planForText(walletOf('standard'), { id: 'model', tier: 'L' }, estimate).tokens?.weight
  expect([-5, 0, 10.2, 900_000].map(weightOf)).toEqual([0, 0, 11, 500_000])
})

it.each(['standard', 'partner', 'staff'] as const)('lists the very plans that %s requests consume from', (tier) => {
  const models = [
    { id: 'chat', type: 'text', tier: 'L' },
    { id: 'vectors', type: 'embedding', tier: 'S' },
    { id: 'pictures', type: 'image', tier: 'S' },
    { id: 'bigger', type: 'upscale', tier: 'S' },
    { id: 'voice', type: 'tts', tier: 'S' },
    { id: 'ears', type: 'asr', tier: 'S' },
    { id: 'film', type: 'video', tier: 'M' },
    { id: 'song', type: 'music', tier: 'M' },
  ] as const
  const [chat, vectors, pictures, bigger, voice, ears, film, song, rpc, creation, management] = plans.plansOf(
    walletOf(tier),
    models,
  )
  const caller = walletOf(tier)
  expect(chat).toEqual(plans.planForText(caller, { id: 'chat', tier: 'L' }, 0))
  expect(vectors).toEqual(plans.planForEmbedding(caller, { id: 'vectors' }))
  expect(pictures).toEqual(plans.planForRequests(caller, { id: 'pictures' }, 'image'))
  expect(bigger).toEqual(plans.planForRequests(caller, { id: 'bigger' }, 'image'))
  expect(voice).toEqual(plans.planForRequests(caller, { id: 'voice' }, 'audio'))
  expect(ears).toEqual(plans.planForRequests(caller, { id: 'ears' }, 'audio'))
  expect(film).toEqual(plans.planForRequests(caller, { id: 'film' }, 'videoQueue'))
  expect(song).toEqual(plans.planForRequests(caller, { id: 'song' }, 'videoQueue'))
  expect(rpc).toEqual({ ...plans.planForRpc(caller, 0), subject: 'endpoint:api/v1/crypto/rpc' })
  expect([creation, management]).toEqual([plans.planForKeyCreation(caller), plans.planForManagement(caller)])
})

describe('limits that an operator set', () => {
  const overrides = {
    text: { M: { requestsPerMinute: 7 } },
    image: { requestsPerMinute: 3 },
    rpc: { creditsPer24Hours: 1_000 },
  }

  it('override the tier for an account, number by number', () => {
    const caller = { ...walletOf('partner'), limitOverrides: { account: overrides, key: null } }
    const text = plans.planForText(caller, { id: 'model', tier: 'M' }, 5)
    expect([text.requests.limit, text.tokens?.limit, text.scope, text.keyWindows]).toEqual([
      7,
      1_500_000,
      'user',
      undefined,
    ])
    expect(plans.planForText(caller, { id: 'model', tier: 'L' }, 5).requests.limit).toBe(60)
    expect(plans.planForRequests(caller, { id: 'model' }, 'image').requests.limit).toBe(3)
    expect(plans.planForRequests(caller, { id: 'model' }, 'audio').requests.limit).toBe(120)
    const rpc = plans.planForRpc(caller, 5)
    expect([rpc.requests.limit, rpc.credits?.limit]).toEqual([100, 1_000])
  })

  it('are windows of their own for a key, counted apart from other keys and from the account', () => {
    const caller = keyCaller({ limitOverrides: { account: null, key: overrides } })
    const text = plans.planForText(caller, { id: 'model', tier: 'M' }, 5)
    expect(text.scope).toBe('api_key')
    expect(text.requests.limit).toBe(50)
    expect(text.keyWindows).toMatchObject({ requests: { limit: 7, weight: 1 }, tokens: null, credits: null })
    const other = plans.planForText({ ...caller, keyId: 'other' }, { id: 'model', tier: 'M' }, 5)
    const keys = [text.requests.key, text.keyWindows?.requests?.key, other.keyWindows?.requests?.key]
    expect(new Set(keys).size).toBe(3)
    // One place in a cluster, since one call of the store takes from all of them.
    expect(new Set(keys.map((key) => key?.split(':')[0]))).toEqual(new Set([caller.accountId]))
    expect(plans.planForText(caller, { id: 'model', tier: 'L' }, 5)).toMatchObject({ scope: 'user' })
    expect(plans.planForRpc(caller, 45).keyWindows).toMatchObject({
      requests: null,
      credits: { limit: 1_000, weight: 45, windowSeconds: 86_400 },
    })
  })
})
