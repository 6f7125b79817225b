import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Json } from '../support/event-stream.ts'
import { codes, type GraphqlHarness, type GraphqlTestAccount, startGraphqlHarness } from '../support/graphql-harness.ts'
import { keySettings } from '../support/key-harness.ts'
import { usageOf } from '../support/money-harness.ts'

const CREATE = `mutation ($input: CreateApiKeyInput!) {
  createApiKey(input: $input) {
    __typename
    ... on CreateApiKeySuccess {
      secret
      apiKey { id apiKeyId type description last6Chars limitPeriod modelPrivacy createdAt expiresAt lastUsedAt
        limits { usd usdNanoUsd diem diemNanoUsd } }
    }
    ... on Failure { message }
    ... on InvalidInput { fields { path messages } }
    ... on LimitReached { limit retryAfterSeconds }
  }
}`
const UPDATE = `mutation ($input: UpdateApiKeyInput!) {
  updateApiKey(input: $input) {
    ... on UpdateApiKeySuccess { apiKey { description expiresAt limitPeriod limits { usd diem } } }
    ... on InvalidInput { fields { path messages } }
  }
}`

let harness: GraphqlHarness
let account: GraphqlTestAccount

beforeAll(async () => {
  harness = await startGraphqlHarness()
})
beforeEach(async () => {
  account = await harness.createAccount()
})
afterAll(() => harness.close())

const run = (query: string, variables: object = {}, key = account.adminKey) => harness.run(query, { key, variables })
const create = async (input: object) => (await run(CREATE, { input })).data.createApiKey
const isServed = async (key: string) => (await run('{ viewer { id } }', {}, key)).errors.length === 0

describe('createApiKey', () => {
  it('makes a key that works, with exact limits', async () => {
    const created = await create({
      type: 'INFERENCE',
      description: 'for the app',
      limits: { usd: '0.000000001', diem: '12.5' },
      limitPeriod: 'MONTH',
      expiresAt: '2026-02-01T00:00:00+01:00',
    })
    expect(created).toMatchObject({
      __typename: 'CreateApiKeySuccess',
      apiKey: {
        type: 'INFERENCE',
        description: 'for the app',
        limitPeriod: 'MONTH',
        modelPrivacy: 'ALL',
        limits: { usd: '0.000000001', usdNanoUsd: '1', diem: '12.5', diemNanoUsd: '12500000000' },
        createdAt: harness.clock.now().toISOString(),
        expiresAt: '2026-01-31T23:00:00.000Z',
        lastUsedAt: null,
      },
    })
    expect(created.secret.endsWith(created.apiKey.last6Chars)).toBe(true)
    expect(await isServed(created.secret)).toBe(true)
  })

  it('reads an amount in the document exactly, without rounding', async () => {
    const answer = await run(
      `mutation { createApiKey(input: { type: INFERENCE, description: "x", limits: { usd: 9007199.254740993 } }) {
        ... on CreateApiKeySuccess { apiKey { limits { usd diem } } } } }`,
    )
    expect(answer.data.createApiKey.apiKey.limits).toEqual({ usd: '9007199.254740993', diem: null })
  })

  it('names every field at fault in a member of the result', async () => {
    const created = await create({ type: 'ADMIN', description: 'x'.repeat(65), limits: { usd: '-1' } })
    expect(created).toMatchObject({
      __typename: 'InvalidInput',
      fields: [
        { path: 'description', messages: ['must have at most 64 characters (it has 65)'] },
        { path: 'limits.usd', messages: ['must not be negative (it is -1)'] },
      ],
    })
    expect(created.message).toContain('description')
  })

  it.each([
    ['an expiry in the past', { expiresAt: '2026-01-01T00:00:00Z' }, 'expiresAt'],
    ['a limit beyond what is counted', { limits: { usd: '10000000000' } }, 'limits.usd'],
  ])('rejects %s in a member of the result', async (_name, fields, path) => {
    const created = await create({ type: 'ADMIN', description: 'x', ...fields })
    expect(created).toMatchObject({ __typename: 'InvalidInput', fields: [{ path }] })
  })

  it.each([
    ['an amount with 10 decimals', { limits: { usd: '0.0000000001' } }],
    ['an amount that is none', { limits: { usd: 'a lot' } }],
    ['an instant without its zone', { expiresAt: '2026-02-01T00:00:00' }],
    ['an instant that does not exist', { expiresAt: '2026-13-45T00:00:00Z' }],
    ['a day that does not exist', { expiresAt: '2027-02-30T00:00:00Z' }],
    ['an unknown field', { note: 'x' }],
    ['an unknown type', { type: 'ROOT' }],
  ])('rejects %s as an operation that does not fit', async (_name, fields) => {
    const answer = await run(CREATE, { input: { type: 'ADMIN', description: 'x', ...fields } })
    expect(codes(answer)).toEqual(['BAD_USER_INPUT'])
  })

  it('says when to try again after 20 creations in a minute', async () => {
    for (let made = 0; made < 20; made++) await create({ type: 'INFERENCE', description: 'x' })
    const refused = await create({ type: 'INFERENCE', description: 'x' })
    expect(refused).toMatchObject({ __typename: 'LimitReached', limit: 20, retryAfterSeconds: expect.any(Number) })
  })

  it('says that the account has as many keys as it may', async () => {
    const { adminKey, accountId } = account
    await harness.keys.db
      .insertInto('api_keys')
      .values(Array.from({ length: 498 }, (_, index) => keyRow(accountId, index)))
      .execute()
    const answer = await run(CREATE, { input: { type: 'INFERENCE', description: 'x' } }, adminKey)
    expect(answer.data.createApiKey).toMatchObject({ __typename: 'LimitReached', limit: 500, retryAfterSeconds: null })
  })
})

describe('updateApiKey', () => {
  it('changes present fields, keeps absent ones, and removes null ones', async () => {
    const { apiKey } = await create({
      type: 'INFERENCE',
      description: 'before',
      limits: { usd: '1', diem: '2' },
      expiresAt: '2026-02-01T00:00:00Z',
    })
    const update = async (fields: object) =>
      (await run(UPDATE, { input: { id: apiKey.id, ...fields } })).data.updateApiKey.apiKey
    const before = {
      description: 'before',
      expiresAt: '2026-02-01T00:00:00.000Z',
      limitPeriod: 'EPOCH',
      limits: { usd: '1', diem: '2' },
    }
    expect(await update({})).toEqual(before)
    expect(await update({ description: 'after', limits: { usd: '3' } })).toEqual({
      ...before,
      description: 'after',
      limits: { usd: '3', diem: '2' },
    })
    expect(await update({ limits: { diem: null }, expiresAt: null })).toMatchObject({
      expiresAt: null,
      limits: { usd: '3', diem: null },
    })
  })

  it.each([
    ['description', null],
    ['limitPeriod', null],
  ])('rejects %s: %s', async (field, value) => {
    const { apiKey } = await create({ type: 'INFERENCE', description: 'x' })
    const answer = await run(UPDATE, { input: { id: apiKey.id, [field]: value } })
    expect(answer.data.updateApiKey.fields).toMatchObject([{ path: field }])
  })
})

describe('rotateApiKey', () => {
  const rotate = async (id: string, graceSeconds?: number) => {
    const query = `mutation ($input: RotateApiKeyInput!) { rotateApiKey(input: $input) {
      ... on RotateApiKeySuccess { secret apiKey { description type } } ... on InvalidInput { fields { path } } } }`
    return (await run(query, { input: { id, ...(graceSeconds === undefined ? {} : { graceSeconds }) } })).data
      .rotateApiKey
  }

  it('ends the old key at once by default', async () => {
    const old = await create({ type: 'INFERENCE', description: 'app' })
    const { secret, apiKey } = await rotate(old.apiKey.id)
    expect(apiKey).toEqual({ description: 'app', type: 'INFERENCE' })
    expect([await isServed(secret), await isServed(old.secret)]).toEqual([true, false])
  })

  it('lets the old key work for its grace', async () => {
    const old = await create({ type: 'INFERENCE', description: 'app' })
    await rotate(old.apiKey.id, 60)
    harness.clock.advance(59_000)
    expect(await isServed(old.secret)).toBe(true)
    harness.clock.advance(1_000)
    expect(await isServed(old.secret)).toBe(false)
  })

  it.each([-1, 604_801])('rejects a grace of %i seconds', async (graceSeconds) => {
    const old = await create({ type: 'INFERENCE', description: 'app' })
    expect(await rotate(old.apiKey.id, graceSeconds)).toEqual({ fields: [{ path: 'graceSeconds' }] })
  })
})

describe('revokeApiKey', () => {
  it('ends a key, and rejects to end it twice', async () => {
    const { apiKey, secret } = await create({ type: 'INFERENCE', description: 'x' })
    const query = `mutation ($id: ID!) { revokeApiKey(input: { id: $id }) {
      ... on RevokeApiKeySuccess { revokedApiKeyId } ... on InvalidInput { message } } }`
    expect((await run(query, { id: apiKey.id })).data.revokeApiKey).toEqual({ revokedApiKeyId: apiKey.id })
    expect(await isServed(secret)).toBe(false)
    expect((await run(query, { id: apiKey.id })).data.revokeApiKey).toEqual({ message: 'API key not found or expired' })
  })

  it('takes only the id of a key', async () => {
    const id = Buffer.from(`Account:${account.accountId}`).toString('base64')
    const answer = await run(`mutation { revokeApiKey(input: { id: "${id}" }) { __typename } }`)
    expect(codes(answer)).toEqual(['BAD_USER_INPUT'])
  })
})

describe('apiKeys', () => {
  it('pages through the active keys, newest first', async () => {
    for (const description of ['a', 'b', 'c']) {
      harness.clock.advance(1_000)
      await create({ type: 'INFERENCE', description })
    }
    const seen: string[] = []
    let after: string | null = null
    do {
      const query = `query ($after: String) { viewer { apiKeys(first: 2, after: $after) {
        edges { cursor node { description } } pageInfo { hasNextPage hasPreviousPage endCursor startCursor } } } }`
      const { edges, pageInfo }: Json = (await run(query, { after })).data.viewer.apiKeys
      expect(pageInfo).toMatchObject({
        hasPreviousPage: after !== null,
        startCursor: edges[0].cursor,
        endCursor: edges.at(-1).cursor,
      })
      seen.push(...edges.map((edge: Json) => edge.node.description))
      after = pageInfo.hasNextPage ? pageInfo.endCursor : null
    } while (after !== null)
    expect(seen).toEqual(['c', 'b', 'a', 'inference', 'First key'])
  })

  it('shows what each key spent, read for the whole page at once', async () => {
    const caller = await harness.keys.auth.authenticateKey(account.inferenceKey)
    const metered = await harness.money.open(caller, 500_000_000n)
    await metered.settle(usageOf(123_456_789n))
    const answer = await run(
      '{ viewer { apiKeys { nodes { description usage { currentPeriod { usd usdNanoUsd } trailingSevenDays { usd diem } } } } } }',
    )
    expect(answer.data.viewer.apiKeys.nodes[0]).toEqual({
      description: 'inference',
      usage: {
        currentPeriod: { usd: '0.123456789', usdNanoUsd: '123456789' },
        trailingSevenDays: { usd: '0.123456789', diem: '0' },
      },
    })
  })

  it('rejects a cursor of another list and of another account', async () => {
    const query = (list: string) => `{ viewer { ${list}(first: 1) { pageInfo { endCursor } } } }`
    const { endCursor: ofLedger } = (await run(query('ledger'))).data.viewer.ledger.pageInfo
    const other = await harness.createAccount()
    const { endCursor: ofOther } = (await run(query('apiKeys'), {}, other.adminKey)).data.viewer.apiKeys.pageInfo
    for (const after of [ofLedger, ofOther, 'garbage', '']) {
      const answer = await run('query ($after: String) { viewer { apiKeys(after: $after) { nodes { id } } } }', {
        after,
      })
      expect(answer.errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT', field: 'after' } }])
    }
  })
})

function keyRow(accountId: string, index: number) {
  const settings = keySettings({ description: `key ${index}` })
  const { key, secretHash } = harness.keys.issuer.issue(accountId, settings)
  return {
    account_id: accountId,
    key_id: key.id,
    key_hash: secretHash,
    type: key.type,
    description: key.description,
    limit_usd_nano: null,
    limit_diem_nano: null,
    limit_period: key.limitPeriod,
    model_privacy: key.modelPrivacy,
    last6_chars: key.last6Chars,
    created_at: key.createdAt,
    expires_at: null,
    revoked_at: null,
    last_used_at: null,
  }
}

it('the id that the REST API knows is rejected with the one to send', async () => {
  const { apiKeyId } = (await create({ type: 'INFERENCE', description: 'x' })).apiKey
  const query = 'mutation ($id: ID!) { revokeApiKey(input: { id: $id }) { __typename } }'
  const { errors } = await run(query, { id: apiKeyId })
  expect(errors).toMatchObject([
    {
      message: expect.stringMatching(/Send the `id` of an object, not its `apiKeyId`/),
      extensions: { code: 'BAD_USER_INPUT' },
    },
  ])
})
