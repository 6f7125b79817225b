import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RatePlan } from '../../../server/domain/rate-limits/rate-plan.ts'
import { type BillingApp, chatUsage, startBillingApp } from '../../support/billing-app.ts'

let app: BillingApp
beforeAll(async () => {
  app = await startBillingApp()
})
afterAll(() => app.close())

describe('GET /billing/balance', () => {
  it('names both balances, the allowance, and DIEM as the currency spent first', async () => {
    const owner = await app.createOwner({ usdNano: 2_500_000_001n, stakeNano: 1_500_000_000n })
    const answer = async () => (await owner.get('/billing/balance')).body
    expect(await answer()).toEqual({
      canConsume: true,
      consumptionCurrency: 'DIEM',
      balances: { diem: 1.5, usd: 2.500000001 },
      diemEpochAllocation: 1.5,
    })
    await app.charge(await owner.addKey('key'), chatUsage('Alpha', 500_000_000, 0))
    expect(await answer()).toMatchObject({
      consumptionCurrency: 'USD',
      balances: { diem: 0, usd: 2.500000001 },
      diemEpochAllocation: 1.5,
    })
    app.clock.advance(86_400_000)
    expect(await answer()).toMatchObject({ consumptionCurrency: 'DIEM', balances: { diem: 1.5 } })
  })

  it.each([
    [100_000_000n, true],
    [99_999_999n, false],
  ])('says whether %s nano-USD can be consumed: %s', async (usdNano, canConsume) => {
    const owner = await app.createOwner({ usdNano })
    expect((await owner.get('/billing/balance')).body).toEqual({
      canConsume,
      consumptionCurrency: 'USD',
      balances: { diem: null, usd: Number(usdNano) / 1e9 },
      diemEpochAllocation: 0,
    })
  })

  it('cannot be consumed while open requests hold it, though it is still there', async () => {
    const owner = await app.createOwner({ usdNano: 150_000_000n })
    const caller = await owner.addKey('key')
    const {
      money: { metering },
      ids,
      limits: { ratePlans },
    } = app.services
    const context = { requestId: ids.requestId(), caller, signal: new AbortController().signal }
    const plan: RatePlan = ratePlans.planForRpc(caller, 1)
    const held = await metering.open({ context, plan, holdNanoUsd: 150_000_000n })
    const { body } = await owner.get('/billing/balance')
    expect(body).toMatchObject({ canConsume: false, consumptionCurrency: null, balances: { usd: 0.15 } })
    await held.release()
    expect((await owner.get('/billing/balance')).body).toMatchObject({ canConsume: true, consumptionCurrency: 'USD' })
  })
})

describe('GET /billing/usage', () => {
  it('is gone for everybody, and names its replacement', async () => {
    for (const headers of [{}, { authorization: 'Bearer wrong' }]) {
      const response = await fetch(`${app.server.baseUrl}/billing/usage`, { headers })
      expect(response.status).toBe(410)
      expect(response.headers.get('link')).toBe('</api/v1/billing/usage-history>; rel="successor-version"')
      expect(response.headers.get('deprecation')).toMatch(/^@\d+$/)
      expect(Date.parse(response.headers.get('sunset') ?? '')).not.toBeNaN()
      expect(await response.json()).toEqual({
        error: expect.stringContaining('/api/v1/billing/usage-history'),
        code: 'GONE',
      })
    }
  })
})
