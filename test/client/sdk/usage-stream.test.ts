import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PermissionError, type RecordedUsage, toNanoUsd, ValidationError } from '../../../client/sdk/index.ts'
import { eventually } from '../../support/eventually.ts'
import { errorOf, type SdkHarness, say, startSdkHarness } from '../../support/sdk-harness.ts'

let harness: SdkHarness

beforeAll(async () => {
  harness = await startSdkHarness()
})
afterAll(() => harness[Symbol.asyncDispose]())

/** Sends a chat and gives its request id. */
async function chat(): Promise<string> {
  const { response } = await harness.sluice.chat.completions.create(say('Hello')).withResponse()
  return response.requestId ?? ''
}

/** The ids of the next so many requests in a stream. */
async function take(events: AsyncIterator<RecordedUsage>, count: number): Promise<string[]> {
  const ids: string[] = []
  while (ids.length < count) {
    const { value } = await events.next()
    for (const { requestId } of value?.requests ?? []) ids.push(requestId)
  }
  return ids
}

describe('usageRecorded', () => {
  test('gives every request once and in order, those of a lost connection included', async () => {
    const events = harness.sluice.usageRecorded()
    const begin = await events.next()
    expect(begin.value).toMatchObject({ requests: [], missed: false })
    const sent = [await chat(), await chat()]
    expect(await take(events, 2)).toEqual(sent)
    harness.proxy.cutConnections()
    const missed = [await chat(), await chat(), await chat()]
    expect(await take(events, 3)).toEqual(missed)
    await events.return?.()
  })

  test('continues after a cursor that an earlier process kept', async () => {
    const events = harness.sluice.usageRecorded()
    const cursor = (await events.next()).value?.cursor ?? ''
    await events.return?.()
    const sent = [await chat(), await chat()]
    const later = harness.connect().usageRecorded({ after: cursor })
    expect(await take(later, 2)).toEqual(sent)
    await later.return?.()
  })

  test('reports the usage and cost of each request', async () => {
    const events = harness.sluice.usageRecorded()
    await events.next()
    const { response } = await harness.sluice.chat.completions.create(say('Hello')).withResponse()
    const { value } = await events.next()
    expect(value?.requests).toMatchObject([
      { requestId: response.requestId, sku: 'test-model', charge: response.cost?.usd, outcome: 'COMPLETED' },
    ])
    await events.return?.()
  })

  test('is forbidden for an INFERENCE key', async () => {
    const { apiKey } = await harness.sluice.apiKeys.create({ apiKeyType: 'INFERENCE', description: 'limited' })
    const error = await errorOf(harness.connect({ apiKey }).usageRecorded().next())
    expect(error).toBeInstanceOf(PermissionError)
  })
})

describe('the log of requests', () => {
  test('lists them page by page, by filters, and shows a receipt with its posting', async () => {
    const { requests } = harness.sluice
    const sent = [await chat(), await chat(), await chat()]
    const listed: string[] = []
    for await (const { requestId } of requests.list({ pageSize: 2, skus: ['test-model'], outcomes: ['COMPLETED'] })) {
      listed.push(requestId)
    }
    expect(listed.slice(0, 3)).toEqual(sent.toReversed())
    expect((await requests.list({ skus: ['nothing'] }).page()).items).toEqual([])
    const receipt = await requests.retrieve(sent[0] ?? '')
    expect(receipt).toMatchObject({ requestId: sent[0], idempotency: { replays: 0 }, lines: [{ type: 'Input' }, {}] })
    expect(receipt?.ledgerTransfer).toMatchObject({ kind: 'CHARGE', amount: `-${receipt?.charge}` })
    expect(await requests.retrieve('0'.repeat(32))).toBeNull()
  })
})

describe('the usage cube', () => {
  test('adds up to the charges, split as requested', async () => {
    await chat()
    const { rows, totals } = await harness.sluice.usage.cube({ groupBy: ['SKU', 'METHOD'] })
    expect(new Set(rows.map(({ sku, method }) => `${sku} ${method}`))).toEqual(
      new Set(['test-model Input', 'test-model Output']),
    )
    let charged = 0n
    for await (const { kind, amount } of harness.sluice.ledger.list())
      if (kind === 'CHARGE') charged -= toNanoUsd(amount)
    expect(toNanoUsd(totals.amount)).toBe(charged)
    expect(rows.reduce((sum, { amount }) => sum + toNanoUsd(amount), 0n)).toBe(charged)
  })

  test('names the field that is at fault', async () => {
    const error = await errorOf(harness.sluice.usage.cube({ from: '2026-01-31', to: '2026-01-01' }))
    expect(error).toBeInstanceOf(ValidationError)
  })
})

describe('limits', () => {
  test("match the limiter's numbers, with their current use", async () => {
    const { rateLimits } = harness.sluice
    const { response } = await harness.sluice.chat.completions.create(say('Hello')).withResponse()
    const own = await rateLimits.retrieve()
    expect(own).toMatchObject({ accessPermitted: true, apiTier: { id: 'staff' }, keyExpiration: null })
    expect(own.rateLimits.map(({ apiModelId }) => apiModelId)).toContain('test-model')
    const fills = []
    for await (const fill of rateLimits.list({ pageSize: 2 })) fills.push(fill)
    const window = fills.find(({ subject }) => subject === 'test-model')?.windows.find(({ type }) => type === 'RPM')
    expect(window?.limit).toBe(response.rateLimits.requests?.limit)
    expect(window?.used).toBeGreaterThan(0)
  })

  test('are pushed and logged when they are exceeded', async () => {
    const { adminKey } = await harness.server.createAccount({ tier: 'standard' })
    const sluice = harness.connect({ apiKey: adminKey, maxRetries: 0 })
    const pushed = sluice.rateLimitExceeded()
    let event: Awaited<ReturnType<typeof pushed.next>>['value']
    void pushed.next().then(({ value }) => (event = value))
    // What was refused before the subscription stood is not pushed, so it goes on until something is.
    await eventually(async () => {
      await Promise.allSettled(
        Array.from({ length: 21 }, () => sluice.apiKeys.create({ apiKeyType: 'INFERENCE', description: 'many' })),
      )
      expect(event).toMatchObject({ count: expect.any(Number), newest: { type: 'RPM' } })
    })
    const logged = async () => (await sluice.rateLimits.log().page()).items.map(({ refusalId }) => refusalId)
    await expect.poll(logged).toContain(event?.newest.refusalId)
    await pushed.return?.()
  })
})
