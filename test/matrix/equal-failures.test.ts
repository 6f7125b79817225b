import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ApiError, type SluiceClient } from '../../client/sdk/index.ts'
import { errorOf } from '../support/sdk-harness.ts'
import { type AccountOptions, type Fronts, freshAccount, frontsOf } from './fronts.ts'
import { globalId } from './graphql-lines.ts'
import { CHAT, type Scene, startScene } from './scene.ts'

let scene: Scene
/** Where one key a minute may be made. */
let strict: Scene
beforeAll(async () => {
  scene = await startScene()
  strict = await startScene({ limits: { keys: { creationsPerMinute: 1 }, abuse: { failures: 1_000 } } })
})
afterAll(async () => {
  await scene[Symbol.asyncDispose]()
  await strict[Symbol.asyncDispose]()
})

type Caller = Omit<Fronts, 'accountId'>
type Refused = { code: unknown; fields: string[] }

interface Failure {
  /** Who calls, where it is not the ADMIN key of an account with money. */
  as?: (scene: Scene, account: Fronts) => Promise<Caller> | Caller
  account?: AccountOptions
  isStrict?: true
  rest: (fronts: Caller) => ReturnType<Fronts['rest']>
  graphql?: (fronts: Caller) => Promise<unknown>
  sdk: (sdk: SluiceClient) => PromiseLike<unknown>
  /** Code of REST, code of GraphQL, class of the client. */
  expected: [rest: string, graphql: string | null, sdkClass: string]
  /** What is at fault, as each front names it. */
  field?: string
}

const MISSING = '018f0000-0000-7000-8000-000000000099'
const KEY = { apiKeyType: 'INFERENCE', description: 'made' } as const
const CREATE = `mutation ($input: CreateApiKeyInput!) {
  createApiKey(input: $input) { __typename ... on InvalidInput { fields { path } } ... on LimitReached { message } }
}`
const creating = (input: object) => (fronts: Caller) =>
  fronts.graphql(CREATE, { input: { type: 'INFERENCE', description: 'made', ...input } })
const quoting = (chat: object) => (fronts: Caller) =>
  fronts.graphql('query ($input: QuoteInput!) { quote(input: $input) { price } }', { input: { chat } })
const chatting = (body: object) => (fronts: Caller) => fronts.rest('POST', '/chat/completions', { ...CHAT, ...body })

async function withKey({ server }: Scene, { accountId }: Fronts, settings: object): Promise<Caller> {
  const { apiKeys } = server.app.services.access
  const limits = { usdNano: null, diemNano: null }
  const all = { type: 'INFERENCE', description: 'k', limits, limitPeriod: 'EPOCH', modelPrivacy: 'ALL' } as const
  const { secret } = await apiKeys.createForAccount(accountId, { ...all, expiresAt: null, ...settings })
  return frontsOf(server.url, secret)
}

const sayTo = (model: string) => ({ model, messages: [{ role: 'user' as const, content: 'hello' }] })

/** Each failure on every front where it can happen. */
const FAILURES: Record<string, Failure> = {
  'a description that is too long': {
    rest: ({ rest }) => rest('POST', '/api_keys', { ...KEY, description: 'x'.repeat(65) }),
    graphql: creating({ description: 'x'.repeat(65) }),
    sdk: (sdk) => sdk.apiKeys.create({ ...KEY, description: 'x'.repeat(65) }),
    expected: ['400 INVALID_REQUEST', 'InvalidInput', 'ValidationError'],
    field: 'description',
  },
  'a limit below zero': {
    rest: ({ rest }) => rest('POST', '/api_keys', { ...KEY, consumptionLimit: { usd: -1 } }),
    graphql: creating({ limits: { usd: '-1' } }),
    sdk: (sdk) => sdk.apiKeys.create({ ...KEY, consumptionLimit: { usd: -1 } }),
    expected: ['400 INVALID_REQUEST', 'InvalidInput', 'ValidationError'],
    field: 'usd',
  },
  'an expiry in the past': {
    rest: ({ rest }) => rest('POST', '/api_keys', { ...KEY, expiresAt: '2020-01-01' }),
    graphql: creating({ expiresAt: '2020-01-01T00:00:00Z' }),
    sdk: (sdk) => sdk.apiKeys.create({ ...KEY, expiresAt: '2020-01-01' }),
    expected: ['400 INVALID_REQUEST', 'InvalidInput', 'ValidationError'],
    field: 'expiresAt',
  },
  'ending a key that is not there': {
    rest: ({ rest }) => rest('DELETE', `/api_keys?id=${MISSING}`),
    graphql: ({ graphql }) =>
      graphql(
        'mutation ($id: ID!) { revokeApiKey(input: { id: $id }) { __typename ... on InvalidInput { fields { path } } } }',
        { id: globalId('ApiKey', MISSING) },
      ),
    sdk: (sdk) => sdk.apiKeys.revoke(MISSING),
    expected: ['400 INVALID_REQUEST', 'InvalidInput', 'ValidationError'],
  },
  'making keys too fast': {
    isStrict: true,
    as: async (_scene, account) => {
      await account.sdk.apiKeys.create(KEY)
      return account
    },
    rest: ({ rest }) => rest('POST', '/api_keys', KEY),
    graphql: creating({}),
    sdk: (sdk) => sdk.apiKeys.create(KEY),
    expected: ['429 RATE_LIMIT_EXCEEDED', 'LimitReached', 'RateLimitError'],
  },
  'an INFERENCE key where an ADMIN key is needed': {
    as: (at, account) => withKey(at, account, {}),
    rest: ({ rest }) => rest('POST', '/api_keys', KEY),
    graphql: creating({}),
    sdk: (sdk) => sdk.apiKeys.create(KEY),
    expected: ['401 ADMIN_KEY_REQUIRED', 'FORBIDDEN', 'PermissionError'],
  },
  'a key that nobody issued': {
    as: ({ server }) => frontsOf(server.url, 'service_adm_none'),
    rest: ({ rest }) => rest('GET', '/api_keys'),
    graphql: ({ graphql }) => graphql('{ viewer { id } }'),
    sdk: (sdk) => sdk.apiKeys.list(),
    expected: ['401 AUTHENTICATION_FAILED', 'UNAUTHENTICATED', 'AuthenticationError'],
  },
  'a model that is not there': {
    rest: chatting({ model: 'no-model' }),
    graphql: quoting({ model: 'no-model', promptTokens: 1 }),
    sdk: (sdk) => sdk.chat.completions.create(sayTo('no-model')),
    expected: ['404 MODEL_NOT_FOUND', 'NOT_FOUND', 'NotFoundError'],
  },
  'a model that the key may not use': {
    as: (at, account) => withKey(at, account, { modelPrivacy: 'PRIVATE_ONLY' }),
    rest: chatting({ model: 'anonymous-model' }),
    graphql: quoting({ model: 'anonymous-model', promptTokens: 1 }),
    sdk: (sdk) => sdk.chat.completions.create(sayTo('anonymous-model')),
    expected: ['403 MODEL_PRIVACY', 'FORBIDDEN', 'PermissionError'],
  },
  'more tokens than the model gives': {
    rest: chatting({ max_tokens: 1_000_000 }),
    graphql: quoting({ model: 'test-model', promptTokens: 1, maxTokens: 1_000_000 }),
    sdk: (sdk) => sdk.chat.completions.create({ ...sayTo('test-model'), max_tokens: 1_000_000 }),
    expected: ['400 INVALID_REQUEST', 'BAD_USER_INPUT', 'ValidationError'],
  },
  'a network that is not there': {
    rest: ({ rest }) => rest('POST', '/crypto/rpc/no-network', { jsonrpc: '2.0', id: 1, method: 'eth_chainId' }),
    graphql: ({ graphql }) =>
      graphql(
        '{ quote(input: { rpc: { network: "no-network", body: "{\\"method\\":\\"eth_chainId\\"}" } }) { price } }',
      ),
    sdk: (sdk) => sdk.rpc.request('no-network', { method: 'eth_chainId' }),
    expected: ['400 INVALID_REQUEST', 'BAD_USER_INPUT', 'ValidationError'],
  },
  'a method that is not served': {
    rest: ({ rest }) =>
      rest('POST', '/crypto/rpc/ethereum-mainnet', { jsonrpc: '2.0', id: 1, method: 'eth_subscribe' }),
    graphql: ({ graphql }) =>
      graphql(
        '{ quote(input: { rpc: { network: "ethereum-mainnet", body: "{\\"method\\":\\"eth_subscribe\\"}" } }) { price } }',
      ),
    sdk: (sdk) => sdk.rpc.request('ethereum-mainnet', { method: 'eth_subscribe' }),
    expected: ['400 INVALID_REQUEST', 'BAD_USER_INPUT', 'ValidationError'],
  },
  'too little money': {
    account: { grantNanoUsd: 1n },
    rest: chatting({}),
    sdk: (sdk) => sdk.chat.completions.create(sayTo('test-model')),
    expected: ['402 INSUFFICIENT_BALANCE', null, 'InsufficientBalanceError'],
  },
  'a key that has spent its limit': {
    as: (at, account) => withKey(at, account, { limits: { usdNano: 0n, diemNano: null } }),
    rest: chatting({}),
    sdk: (sdk) => sdk.chat.completions.create(sayTo('test-model')),
    expected: ['402 API_KEY_USD_SPEND_LIMIT_EXCEEDED', null, 'InsufficientBalanceError'],
  },
}

/** What a GraphQL answer refuses with: a member of the result union, or a code. */
function refusedBy(answer: unknown): Refused {
  const { data, errors } = answer as {
    data?: Record<string, { __typename?: string; fields?: { path: string }[] } | null> | null
    errors?: { extensions: { code: string; field?: string } }[]
  }
  const [error] = errors ?? []
  if (error !== undefined) return { code: error.extensions.code, fields: [error.extensions.field ?? ''] }
  const [result] = Object.values(data ?? {})
  return { code: result?.__typename, fields: (result?.fields ?? []).map(({ path }) => path) }
}

describe.each(Object.entries(FAILURES))('%s', (_name, failure) => {
  test('is rejected alike on every front, and leaves no trace', async () => {
    const at = failure.isStrict ? strict : scene
    const account = await freshAccount(at, failure.account)
    const caller = (await failure.as?.(at, account)) ?? account
    const before = await at.fingerprint()
    const rest = await failure.rest(caller)
    const graphql = failure.graphql === undefined ? null : refusedBy(await failure.graphql(caller))
    const error = await errorOf(failure.sdk(caller.sdk))
    if (!(error instanceof ApiError)) throw new Error('the client threw something else', { cause: error })
    expect([`${rest.status} ${rest.body.code}`, graphql?.code ?? null, error.name]).toEqual(failure.expected)
    expect([error.status, error.code]).toEqual([rest.status, rest.body.code ?? error.code])
    const { field } = failure
    if (field !== undefined) {
      expect(JSON.stringify(rest.body.details)).toContain(`"${field}"`)
      expect(graphql?.fields.join()).toContain(field)
      expect(error.fields.map(({ path }) => path).join()).toContain(field)
    }
    expect(await at.fingerprint()).toBe(before)
  })
})
