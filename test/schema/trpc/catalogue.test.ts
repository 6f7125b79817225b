import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createOperatorClient, type OperatorClient } from '../../../client/cli/operator-client.ts'
import type { App } from '../../../server/app/create-app.ts'
import { NAMED_OPERATOR_TOKEN, OPERATOR_TOKEN, startTestApp, type TestApp, testModels } from '../../support/app.ts'
import { createFakeClock, type FakeClock } from '../../support/fake-clock.ts'
import { type ProviderServer, startProviderServer } from '../../support/provider-server.ts'

const MODEL = 'test-model'
const NOW = '2026-01-15T12:00:00.000Z'
const LATER = '2026-01-15T13:00:00.000Z'
const reason = 'test'

let clock: FakeClock
let server: TestApp
let models: ProviderServer
let client: OperatorClient

beforeAll(async () => {
  clock = createFakeClock(NOW)
  models = await startProviderServer()
  const [model, ...others] = testModels('fast')
  const providers = [
    { id: 'slow', model: 'upstream-model' },
    { id: 'fast', model: 'upstream-model' },
  ]
  server = await startTestApp({
    overrides: { clock },
    file: {
      providers: [
        { id: 'slow', kind: 'openai', baseUrl: `${models.url}/v1`, timeoutSeconds: 1 },
        { id: 'fast', kind: 'openai', baseUrl: `${models.url}/v1` },
      ],
      models: [{ ...model, providers }, ...others],
    },
  })
  client = createOperatorClient(server.url, OPERATOR_TOKEN)
})
afterAll(async () => {
  await server.close()
  await models.close()
})
beforeEach(async () => {
  clock.set(NOW)
  await server.database.db.deleteFrom('catalogue_changes').execute()
  await server.app.services.models.changes.refresh()
})

/** USD for a million prompt tokens, as everybody reads it in `GET /models`. */
async function publishedPrice(app: { url: string } = server): Promise<number> {
  const { data } = await (await fetch(`${app.url}/api/v1/models?type=text`)).json()
  return data.find(({ id }: { id: string }) => id === MODEL).model_spec.pricing.input.usd
}

async function chat(adminKey: string, app: { url: string } = server) {
  // Ids of one millisecond have no order, and the log is read newest first.
  clock.advance(1)
  return fetch(`${app.url}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: 'hello' }] }),
  })
}

/** Price of an input token on the receipt of the account's last request. */
async function pricePaid(accountId: string): Promise<string | null | undefined> {
  const { items } = await server.app.services.usage.requests.list(accountId, { first: 1 })
  return items[0]?.lines.find(({ type }) => type === 'Input')?.unitPriceUsd
}

function setPrice(usd: number, effectiveAt?: string) {
  clock.advance(1)
  const pricing = { input: { usd }, output: { usd: 2 * usd } }
  return client.catalogue.setPrice.mutate({ modelId: MODEL, reason, effectiveAt, pricing })
}

describe('a price change', () => {
  test('is in force at once in GET /models and on the next receipt, and is exact', async () => {
    const { accountId, adminKey } = await server.createAccount()
    expect((await chat(adminKey)).status).toBe(200)
    expect(await pricePaid(accountId)).toBe('0.00000015')
    expect(await setPrice(0.123456)).toMatchObject({ status: 'in_force', actor: 'operator', reason })
    expect(await publishedPrice()).toBe(0.123456)
    expect((await chat(adminKey)).status).toBe(200)
    expect(await pricePaid(accountId)).toBe('0.000000123456')
    await server.assertLedgerClean()
  })

  test('waits for its instant, and then takes effect without anything being sent or read', async () => {
    expect(await setPrice(9, LATER)).toMatchObject({ status: 'scheduled', effectiveAt: LATER })
    clock.set('2026-01-15T12:59:59.999Z')
    expect(await publishedPrice()).toBe(0.15)
    clock.set(LATER)
    expect(await publishedPrice()).toBe(9)
    const model = await client.catalogue.get.query({ modelId: MODEL })
    expect(model.sources).toContainEqual({ field: 'pricing', changeId: expect.any(String), since: LATER })
    expect(model.sources).toContainEqual({ field: 'tier', changeId: null, since: null })
  })

  test('does not touch a request that was admitted before it', async () => {
    const { accountId, adminKey } = await server.createAccount()
    // The first of the model's providers keeps the request until its time is up; the second one answers.
    models.setFault('hang-before-head', 1)
    const running = chat(adminKey)
    await expect.poll(() => server.database.db.selectFrom('holds').selectAll().execute()).toHaveLength(1)
    await setPrice(50)
    expect((await running).status).toBe(200)
    expect(await pricePaid(accountId)).toBe('0.00000015')
  })

  test('goes back to the configuration file when its pricing is null', async () => {
    await setPrice(7)
    clock.advance(1)
    await client.catalogue.setPrice.mutate({ modelId: MODEL, reason, pricing: null })
    expect(await publishedPrice()).toBe(0.15)
  })

  test.each([
    [{ input: { usd: -1 } }, 'pricing.input.usd'],
    [{ input: { usd: 0.1234567 } }, 'at most 6 decimals'],
    [{ input: { usd: 1, diem: 2 } }, '1 DIEM is 1 USD'],
    [{ input: 5 }, 'pricing.input'],
  ])('to %j is rejected by the rules of the configuration file', async (pricing, words) => {
    const call = client.catalogue.setPrice.mutate({ modelId: MODEL, reason, pricing } as never)
    await expect(call).rejects.toThrow(words)
    expect(await publishedPrice()).toBe(0.15)
  })

  test('keeps the prices that it does not name', async () => {
    await setPrice(1)
    clock.advance(1)
    const change = { modelId: MODEL, reason, pricing: { input: { usd: 3 } } }
    const { patch } = await client.catalogue.setPrice.mutate(change)
    expect(patch.pricing).toEqual({ input: { usd: 3 }, output: { usd: 2 }, cache_input: { usd: 0.075 } })
  })

  test('keeps the prices that are in effect when it begins', async () => {
    await setPrice(4, LATER)
    const change = { modelId: MODEL, reason, effectiveAt: '2026-01-15T14:00:00Z', pricing: { input: { usd: 3 } } }
    const { patch } = await client.catalogue.setPrice.mutate(change)
    expect(patch.pricing).toMatchObject({ input: { usd: 3 }, output: { usd: 8 } })
  })

  test.each([{ output: { usd: 0 } }, {}])('to %j is rejected unless it is confirmed', async (pricing) => {
    const change = { modelId: MODEL, reason, pricing }
    await expect(client.catalogue.setPrice.mutate(change)).rejects.toThrow(/pricing/)
    const { patch } = await client.catalogue.setPrice.mutate({ ...change, free: true })
    expect(patch.pricing?.output?.usd ?? 0).toBe(0)
  })

  test.each([
    [{ effectiveAt: '2026-01-15T11:59:59Z' }, 'must not be in the past'],
    [{ effectiveAt: '2036-01-15T12:00:01Z' }, 'at most 10 years ahead'],
    [{ effectiveAt: '2027-01-01' }, 'effectiveAt'],
    [{ effectiveAt: '2027-01-01T00:00:00' }, 'effectiveAt'],
    [{ reason: ' ' }, 'reason'],
    [{ modelId: 'gpt-4o' }, 'has no model gpt-4o'],
  ])('is rejected with a message for %j', async (part, words) => {
    const call = client.catalogue.setPrice.mutate({ modelId: MODEL, reason, pricing: null, ...part })
    await expect(call).rejects.toThrow(words)
  })
})

describe('several processes', () => {
  let twin: App
  beforeAll(async () => {
    twin = await server.startTwin()
  })
  afterAll(() => twin.close())

  test('follow a change although no message reaches them, and switch at its instant', async () => {
    await setPrice(3)
    await expect.poll(() => publishedPrice(twin)).toBe(3)
    const { changeId } = await setPrice(4, LATER)
    await setPrice(5, '2026-01-15T14:00:00Z')
    await client.catalogue.withdraw.mutate({ changeId, reason })
    await twin.services.models.changes.refresh()
    for (const [instant, price] of [
      ['2026-01-15T12:30:00Z', 3],
      [LATER, 3],
      ['2026-01-15T14:00:00Z', 5],
    ] as const) {
      clock.set(instant)
      expect([await publishedPrice(), await publishedPrice(twin)]).toEqual([price, price])
    }
  })
})

describe('the other settings', () => {
  test('a disabled model is rejected until it is enabled, and nothing is charged', async () => {
    const { accountId, adminKey } = await server.createAccount()
    await client.catalogue.setAvailability.mutate({ modelId: MODEL, reason, offline: true })
    expect((await chat(adminKey)).status).toBe(503)
    await client.catalogue.setAvailability.mutate({ modelId: MODEL, reason, offline: false, effectiveAt: LATER })
    expect((await chat(adminKey)).status).toBe(503)
    clock.set(LATER)
    expect((await chat(adminKey)).status).toBe(200)
    expect(await pricePaid(accountId)).toBe('0.00000015')
  })

  test('a new tier brings the limits of that tier', async () => {
    const { adminKey } = await server.createAccount({ tier: 'standard' })
    const before = (await chat(adminKey)).headers.get('x-ratelimit-limit-requests')
    await client.catalogue.setTier.mutate({ modelId: MODEL, reason, tier: 'L' })
    const after = (await chat(adminKey)).headers.get('x-ratelimit-limit-requests')
    expect([before, after]).toEqual(['500', '20'])
  })

  test('a deprecation is announced, and its replacement must be a served model of the type', async () => {
    const deprecate = (replacementModelId: string) =>
      client.catalogue.setDeprecation.mutate({
        modelId: MODEL,
        reason,
        deprecation: { date: LATER, replacementModelId, autoRemap: true },
      })
    for (const id of ['nonsense', 'test-embedding', MODEL]) await expect(deprecate(id)).rejects.toThrow('is not')
    await deprecate('anonymous-model')
    const { adminKey } = await server.createAccount()
    const warned = await chat(adminKey)
    expect(JSON.stringify([...warned.headers])).toContain(LATER)
    clock.set(LATER)
    expect((await (await chat(adminKey)).json()).model).toBe('anonymous-model')
  })
})

describe('the history', () => {
  test('shows past, present, future and withdrawn changes, with operator and reason', async () => {
    await setPrice(1)
    clock.advance(1_000)
    await setPrice(2)
    const { changeId } = await setPrice(3, LATER)
    await setPrice(4, LATER)
    const ada = createOperatorClient(server.url, NAMED_OPERATOR_TOKEN)
    const withdrawn = await ada.catalogue.withdraw.mutate({ changeId, reason: 'postponed' })
    expect(withdrawn.withdrawal).toEqual({ actor: 'ada', reason: 'postponed', at: clock.now().toISOString() })
    const statuses = async () => {
      const first = await client.catalogue.history.query({ modelId: MODEL, first: 3 })
      const rest = await client.catalogue.history.query({ modelId: MODEL, first: 3, after: first.endCursor })
      return [...first.changes, ...rest.changes].map(({ patch, status }) => [patch.pricing?.input?.usd, status])
    }
    const past = [
      [3, 'withdrawn'],
      [2, 'in_force'],
      [1, 'replaced'],
    ]
    expect(await statuses()).toEqual([[4, 'scheduled'], ...past])
    clock.set(LATER)
    expect(await statuses()).toEqual([
      [4, 'in_force'],
      [3, 'withdrawn'],
      [2, 'replaced'],
      [1, 'replaced'],
    ])
  })

  test('cannot be rewritten: what took effect or was withdrawn cannot be withdrawn', async () => {
    const { changeId } = await setPrice(1)
    await expect(client.catalogue.withdraw.mutate({ changeId, reason })).rejects.toThrow('took effect at')
    const { changeId: planned } = await setPrice(2, LATER)
    await client.catalogue.withdraw.mutate({ changeId: planned, reason })
    await expect(client.catalogue.withdraw.mutate({ changeId: planned, reason })).rejects.toThrow('already withdrawn')
    const unknown = '01980000-0000-7000-8000-000000000000'
    await expect(client.catalogue.withdraw.mutate({ changeId: unknown, reason })).rejects.toThrow('does not exist')
  })
})
