import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestAccount, type TestApp, testModels } from '../support/app.ts'
import type { Json } from '../support/event-stream.ts'
import { codes, readAnswer } from '../support/graphql-harness.ts'

const image = (id: string, pricing: object, constraints: object = {}) => ({
  id,
  type: 'image',
  providers: [{ id: 'main', model: id }],
  pricing,
  constraints,
})
const IMAGE_MODELS = [
  image('plain', { generation: { usd: 0.015 } }),
  image('sized', { resolutions: { '1K': { usd: 0.05 }, '2K': { usd: 0.1 } } }, { defaultResolution: '2K' }),
  image(
    'levelled',
    {
      generation: { usd: 9 },
      resolutions: { '1K': { usd: 9 } },
      quality: { '1K': { low: { usd: 0.01 }, high: { usd: 0.04 } }, '4K': { low: { usd: 0.02 }, high: { usd: 0.16 } } },
    },
    { defaultQuality: 'low' },
  ),
]

let testApp: TestApp
let account: TestAccount

beforeAll(async () => {
  testApp = await startTestApp({ file: { models: [...testModels(), ...IMAGE_MODELS] } })
  account = await testApp.createAccount()
})
afterAll(() => testApp.close())

const run = async (query: string, { variables, key }: { variables?: object; key?: string } = {}) =>
  readAnswer(
    await fetch(`${testApp.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) },
      body: JSON.stringify({ query, variables }),
    }),
  )

const QUOTE = `query ($input: QuoteInput!) { quote(input: $input) {
  price hold chat { modelId promptTokens completionTokens } image { modelId count resolution quality unitPrice }
} }`
const quote = (input: object, key?: string) =>
  run(QUOTE, { variables: { input }, ...(key === undefined ? {} : { key }) })

describe('the quote of a chat', () => {
  it('has the very hold that the request gets, and the price of its tokens', async () => {
    const messages = [
      { role: 'system', content: 'You are brief.' },
      { role: 'user', content: 'How large is the moon?' },
    ]
    const quoted = await quote(
      { chat: { model: 'test-model', messages, maxTokens: 100, choices: 2 } },
      account.adminKey,
    )
    expect(quoted.errors).toEqual([])
    const response = await fetch(`${testApp.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${account.adminKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'test-model', messages, max_tokens: 100, n: 2 }),
    })
    expect(response.status).toBe(200)
    const query = 'query ($id: String!) { viewer { request(requestId: $id) { hold } } }'
    const requestId = response.headers.get('cf-ray')
    const { data } = await run(query, { key: account.adminKey, variables: { id: requestId } })
    expect(data.viewer.request.hold).toBe(quoted.data.quote.hold)
    const { promptTokens, completionTokens } = quoted.data.quote.chat
    expect(completionTokens).toBe(200)
    expect(Number(quoted.data.quote.price)).toBeCloseTo((promptTokens * 150 + 200 * 600) / 1e9, 12)
  })

  it('takes the number of tokens in place of the messages, without a credential', async () => {
    const answer = await quote({ chat: { model: 'gpt-4o', promptTokens: 100_000, maxTokens: 1_000 } })
    expect(answer.data.quote).toMatchObject({
      price: '0.0156',
      chat: { modelId: 'test-model', promptTokens: 100_000, completionTokens: 1_000 },
    })
    expect(Number(answer.data.quote.hold)).toBeGreaterThan(Number(answer.data.quote.price))
  })

  it.each<[string, Json, string]>([
    ['both', { messages: [{ role: 'user', content: 'x' }], promptTokens: 1 }, 'BAD_USER_INPUT'],
    ['neither', {}, 'BAD_USER_INPUT'],
    ['no tokens', { promptTokens: 0 }, 'BAD_USER_INPUT'],
    ['more than the model completes', { promptTokens: 1, maxTokens: 8_193 }, 'BAD_USER_INPUT'],
    ['more than its context', { promptTokens: 131_073 }, 'BAD_USER_INPUT'],
    ['an unknown model', { model: 'nope', promptTokens: 1 }, 'NOT_FOUND'],
    ['a model of another type', { model: 'plain', promptTokens: 1 }, 'NOT_FOUND'],
    ['no messages', { messages: [] }, 'BAD_USER_INPUT'],
  ])('is rejected for %s', async (_name, input, code) => {
    expect(codes(await quote({ chat: { model: 'test-model', ...input } }, account.adminKey))).toEqual([code])
  })

  it('needs a credential to count messages', async () => {
    const messages = [{ role: 'user', content: 'x' }]
    expect(codes(await quote({ chat: { model: 'test-model', messages } }))).toEqual(['UNAUTHENTICATED'])
  })
})

describe('the quote of images', () => {
  it.each<[Json, Json]>([
    [
      { model: 'plain', count: 3 },
      { price: '0.045', hold: '0.045', image: { unitPrice: '0.015', resolution: null } },
    ],
    [{ model: 'sized' }, { price: '0.1', image: { resolution: '2K', quality: null } }],
    [{ model: 'sized', resolution: '1K' }, { price: '0.05' }],
    [{ model: 'levelled' }, { price: '0.01', image: { resolution: '1K', quality: 'LOW' } }],
    [{ model: 'levelled', resolution: '4K', quality: 'HIGH', count: 2 }, { price: '0.32' }],
  ])('%j has the price of the catalogue', async (input, expected) => {
    expect((await quote({ image: input })).data.quote).toMatchObject(expected)
  })

  it.each<[Json, string]>([
    [{ model: 'sized', resolution: '8K' }, 'resolution'],
    [{ model: 'sized', resolution: '__proto__' }, 'resolution'],
    [{ model: 'levelled', quality: 'MEDIUM' }, 'quality'],
    [{ model: 'plain', count: 0 }, 'count'],
    [{ model: 'plain', count: 101 }, 'count'],
  ])('%j is rejected and names the field', async (input, field) => {
    expect((await quote({ image: input })).errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT', field } }])
  })
})
