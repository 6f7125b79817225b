import { afterAll, beforeAll, expect, test } from 'vitest'
import { ValidationError } from '../../../client/sdk/index.ts'
import { errorOf, type SdkHarness, say, startSdkHarness } from '../../support/sdk-harness.ts'

let harness: SdkHarness
beforeAll(async () => {
  harness = await startSdkHarness()
})
afterAll(() => harness[Symbol.asyncDispose]())

test('the bills of a client add up to what its responses said they cost', async () => {
  const { sluice, server, account } = harness
  for (let i = 0; i < 12; i++) await sluice.chat.completions.create(say(`message ${i}`))
  const charged = 1_000_000_000n - (await server.balanceNanoUsd(account.accountId))
  expect(charged).toBeGreaterThan(0n)
  const toNano = (usd: number): bigint => BigInt(Math.round(usd * 1e9))

  const balance = await sluice.billing.balance()
  expect(balance).toMatchObject({ canConsume: true, consumptionCurrency: 'USD', balances: { diem: null } })
  expect(toNano(balance.balances.usd ?? 0)).toBe(1_000_000_000n - charged)

  const analytics = await sluice.billing.usageAnalytics({ lookback: '1d' })
  expect(analytics).toMatchObject({ lookback: '1d', topModels: ['Test Model'] })
  expect(toNano(analytics.byModel[0]?.totalUsd ?? 0)).toBe(charged)
  expect(analytics.byModel[0]?.breakdown?.map(({ type }) => type).toSorted((a, b) => a.localeCompare(b))).toEqual([
    'Input',
    'Output',
  ])

  let sum = 0n
  let entries = 0
  // Twelve chats of two lines each: three pages.
  for await (const entry of sluice.billing.usageHistory({ pageSize: 10, currency: 'USD' })) {
    sum -= toNano(entry.amount)
    entries++
    expect(entry.inferenceDetails?.promptTokens).toBeGreaterThan(0)
  }
  expect([entries, sum]).toEqual([24, charged])
})

test('a wrong period is rejected by name', async () => {
  const error = await errorOf(harness.sluice.billing.usageAnalytics({ lookback: '91d' }))
  expect(error).toBeInstanceOf(ValidationError)
  expect(error).toMatchObject({ status: 400, message: expect.stringContaining('lookback') })
})
