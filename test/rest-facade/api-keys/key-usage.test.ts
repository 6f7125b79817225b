import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { KeyCaller } from '../../../server/domain/caller.ts'
import { type BillingApp, chatUsage, startBillingApp } from '../../support/billing-app.ts'
import type { Json } from '../../support/event-stream.ts'
import { keySettings } from '../../support/key-harness.ts'

/** 0.3 USD. */
const CHAT = chatUsage('Alpha', 100_000_000, 0)

let app: BillingApp
beforeAll(async () => {
  app = await startBillingApp()
})
afterAll(() => app.close())

async function createKeys(stakeNano?: bigint) {
  const owner = await app.createOwner({ usdNano: 100_000_000_000n, ...(stakeNano === undefined ? {} : { stakeNano }) })
  const add = async (limitPeriod: 'EPOCH' | 'MONTH' | 'LIFETIME'): Promise<KeyCaller> => {
    const { secret } = await app.services.access.apiKeys.createForAccount(owner.accountId, keySettings({ limitPeriod }))
    return app.services.access.auth.authenticateKey(secret)
  }
  const keys = { EPOCH: await add('EPOCH'), MONTH: await add('MONTH'), LIFETIME: await add('LIFETIME') }
  const chargeAt = async (instant: string): Promise<void> => {
    app.clock.set(instant)
    for (const key of Object.values(keys)) await app.charge(key, CHAT)
  }
  const shownAt = async (instant: string) => {
    app.clock.set(instant)
    const { data } = (await owner.get('/api_keys')).body
    const of = (period: keyof typeof keys) => data.find(({ id }: Json) => id === keys[period].keyId)
    return {
      periods: [of('EPOCH'), of('MONTH'), of('LIFETIME')].map(({ currentPeriodUsage }) => currentPeriodUsage.usd),
      week: of('LIFETIME').usage.trailingSevenDays.usd,
      key: of('EPOCH'),
    }
  }
  return { owner, chargeAt, shownAt }
}

describe('the list of keys shows of each key', () => {
  it('its spending in its period: the UTC day, the UTC month, or ever, up to the last millisecond of it', async () => {
    const { chargeAt, shownAt } = await createKeys()
    await chargeAt('2026-03-30T12:00:00.000Z')
    await chargeAt('2026-03-31T23:59:59.999Z')
    expect(await shownAt('2026-03-31T23:59:59.999Z')).toMatchObject({ periods: ['0.3000', '0.6000', '0.6000'] })
    expect(await shownAt('2026-04-01T00:00:00.000Z')).toMatchObject({ periods: ['0.0000', '0.0000', '0.6000'] })
    await chargeAt('2026-04-01T00:00:00.000Z')
    expect(await shownAt('2026-04-01T12:00:00.000Z')).toMatchObject({ periods: ['0.3000', '0.3000', '0.9000'] })
    expect(await shownAt('2026-04-02T00:00:00.000Z')).toMatchObject({ periods: ['0.0000', '0.3000', '0.9000'] })
    expect(await shownAt('2027-04-02T00:00:00.000Z')).toMatchObject({ periods: ['0.0000', '0.0000', '0.9000'] })
  })

  it('the last seven UTC days, today included', async () => {
    const { chargeAt, shownAt } = await createKeys()
    await chargeAt('2026-03-04T00:00:00.000Z')
    await chargeAt('2026-03-10T12:00:00.000Z')
    expect((await shownAt('2026-03-10T23:59:59.999Z')).week).toBe('0.6000')
    expect((await shownAt('2026-03-11T00:00:00.000Z')).week).toBe('0.3000')
    expect((await shownAt('2026-03-16T23:59:59.999Z')).week).toBe('0.3000')
    expect((await shownAt('2026-03-17T00:00:00.000Z')).week).toBe('0.0000')
  })

  it('each currency separately, as decimal strings, and the old name of DIEM as zero', async () => {
    const { chargeAt, shownAt } = await createKeys(300_000_000n)
    await chargeAt('2026-03-20T12:00:00.000Z')
    const { key } = await shownAt('2026-03-20T12:00:00.000Z')
    expect(key.usage).toEqual({ trailingSevenDays: { usd: '0.0000', vcu: '0.0000', diem: '0.3000' } })
    expect(key.currentPeriodUsage).toEqual({ usd: '0.0000', diem: '0.3000' })
  })

  it('a request by the day of its admission, whenever it ends', async () => {
    const { owner, shownAt } = await createKeys()
    app.clock.set('2026-03-31T23:59:59.000Z')
    const caller = await owner.addKey('late')
    const {
      money: { metering },
      ids,
      limits: { ratePlans },
    } = app.services
    const context = { requestId: ids.requestId(), caller, signal: new AbortController().signal }
    const plan = ratePlans.planForRpc(caller, 1)
    const request = await metering.open({ context, plan, holdNanoUsd: 300_000_000n })
    app.clock.set('2026-04-01T00:00:05.000Z')
    await request.settle(CHAT)
    await shownAt('2026-04-01T00:00:05.000Z')
    const { data } = (await owner.get('/api_keys')).body
    const late = data.find(({ id }: Json) => id === caller.keyId)
    expect(late.currentPeriodUsage.usd).toBe('0.0000')
    expect(late.usage.trailingSevenDays.usd).toBe('0.3000')
    const { byDate } = (await owner.get('/billing/usage-analytics?lookback=2d')).body
    expect(byDate.map(({ USD }: Json) => USD)).toEqual([0.3, 0])
  })
})
