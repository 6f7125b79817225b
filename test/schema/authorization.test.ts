import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  codes,
  type GraphqlHarness,
  type GraphqlTestAccount,
  readAnswer,
  startGraphqlHarness,
} from '../support/graphql-harness.ts'
import { GraphqlSocket } from '../support/graphql-socket.ts'

let harness: GraphqlHarness
let account: GraphqlTestAccount
let other: GraphqlTestAccount

beforeAll(async () => {
  harness = await startGraphqlHarness()
  account = await harness.createAccount()
  other = await harness.createAccount()
})
afterAll(() => harness.close())

const globalId = (type: string, id: string) => Buffer.from(`${type}:${id}`).toString('base64')
const KEY_INPUT = '{ type: INFERENCE, description: "x" }'
const ID_INPUT = `{ id: "${globalId('ApiKey', '018f0000-0000-7000-8000-000000000099')}" }`

type Verdict = 'served' | 'UNAUTHENTICATED' | 'FORBIDDEN'

/** Every root field and every field that is guarded on its own, for whom it is served. */
const MATRIX: [operation: string, nobody: Verdict, inference: Verdict, admin: Verdict][] = [
  ['{ models { nodes { name } } }', 'served', 'served', 'served'],
  ['{ rpcNetworks { slug } }', 'served', 'served', 'served'],
  [
    '{ quote(input: { rpc: { network: "base-mainnet", body: "{\\"method\\":\\"eth_chainId\\"}" } }) { price } }',
    'served',
    'served',
    'served',
  ],
  ['{ viewer { id accountId tier } }', 'UNAUTHENTICATED', 'served', 'served'],
  ['{ viewer { balances { free } } }', 'UNAUTHENTICATED', 'served', 'served'],
  [
    '{ viewer { currentApiKey { limits { usd } usage { currentPeriod { usd } } } } }',
    'UNAUTHENTICATED',
    'served',
    'served',
  ],
  ['{ viewer { name } }', 'UNAUTHENTICATED', 'FORBIDDEN', 'served'],
  ['{ viewer { kind } }', 'UNAUTHENTICATED', 'FORBIDDEN', 'served'],
  ['{ viewer { apiKeys { nodes { last6Chars } } } }', 'UNAUTHENTICATED', 'FORBIDDEN', 'served'],
  ['{ viewer { usage { totals { amount } } } }', 'UNAUTHENTICATED', 'FORBIDDEN', 'served'],
  ['{ viewer { ledger { nodes { kind } } } }', 'UNAUTHENTICATED', 'FORBIDDEN', 'served'],
  [`{ node(id: "${globalId('ApiKey', 'x')}") { id } }`, 'UNAUTHENTICATED', 'FORBIDDEN', 'served'],
  [`mutation { createApiKey(input: ${KEY_INPUT}) { __typename } }`, 'UNAUTHENTICATED', 'FORBIDDEN', 'served'],
  [`mutation { updateApiKey(input: ${ID_INPUT}) { __typename } }`, 'UNAUTHENTICATED', 'FORBIDDEN', 'served'],
  [`mutation { rotateApiKey(input: ${ID_INPUT}) { __typename } }`, 'UNAUTHENTICATED', 'FORBIDDEN', 'served'],
  [`mutation { revokeApiKey(input: ${ID_INPUT}) { __typename } }`, 'UNAUTHENTICATED', 'FORBIDDEN', 'served'],
]

describe.each(MATRIX)('%s', (operation, nobody, inference, admin) => {
  const verdict = async (key?: string) => {
    const answer = await harness.run(operation, key === undefined ? {} : { key })
    return answer.errors.length === 0 ? 'served' : codes(answer).join()
  }

  it(`is ${nobody} without a key, ${inference} to an INFERENCE key, ${admin} to an ADMIN key`, async () => {
    expect([await verdict(), await verdict(account.inferenceKey), await verdict(account.adminKey)]).toEqual([
      nobody,
      inference,
      admin,
    ])
  })
})

describe('a guarded field', () => {
  it('takes nothing else down with it', async () => {
    const answer = await harness.run('{ models { nodes { modelId } } viewer { id } }')
    expect(answer.status).toBe(200)
    expect(answer.data).toMatchObject({ viewer: null, models: { nodes: [{ modelId: 'alpha' }, {}, {}] } })
    expect(answer.errors).toMatchObject([{ path: ['viewer'], extensions: { code: 'UNAUTHENTICATED' } }])
  })

  it('is checked before the arguments of a mutation change anything', async () => {
    const key = globalId('ApiKey', account.inferenceKeyId)
    await harness.run(`mutation { revokeApiKey(input: { id: "${key}" }) { __typename } }`, {
      key: account.inferenceKey,
    })
    expect((await harness.run('{ viewer { id } }', { key: account.inferenceKey })).errors).toEqual([])
  })
})

describe('a wrong credential', () => {
  it.each([
    ['an unknown key', 'Bearer service_adm_00000000000000000000000000000000000000'],
    ['another scheme', 'Basic dXNlcjpwYXNz'],
    ['nothing but the scheme', 'Bearer '],
  ])('(%s) is 401 for the whole request', async (_name, authorization) => {
    const response = await harness.post(JSON.stringify({ query: '{ models { nodes { name } } }' }), { authorization })
    expect(response.status).toBe(401)
    expect(codes(await readAnswer(response))).toEqual(['UNAUTHENTICATED'])
  })

  it('is rejected with 429 after more than 20 in 30 seconds, while right keys of the same address are served', async () => {
    const harness = await startGraphqlHarness()
    const { adminKey } = await harness.createAccount()
    const guess = () => harness.run('{ viewer { id } }', { key: 'wrong' })
    for (let i = 0; i < 21; i++) await guess()
    const blocked = await guess()
    expect([blocked.status, codes(blocked), blocked.headers.get('retry-after')]).toEqual([429, ['RATE_LIMITED'], '30'])
    expect((await harness.run('{ viewer { id } }', { key: adminKey })).errors).toEqual([])
    await (await GraphqlSocket.open(harness.socketUrl, adminKey)).close()
    harness.clock.advance(30_001)
    expect((await guess()).status).toBe(401)
    await harness.close()
  })
})

describe('objects of another account', () => {
  it('are null by node id, as objects that do not exist', async () => {
    const query = 'query ($id: ID!) { node(id: $id) { id } }'
    const load = async (id: string) =>
      (await harness.run(query, { key: account.adminKey, variables: { id } })).data.node
    expect(await load(globalId('ApiKey', account.adminKeyId))).not.toBeNull()
    expect(await load(globalId('Account', account.accountId))).not.toBeNull()
    expect(await load(globalId('ApiKey', other.adminKeyId))).toBeNull()
    expect(await load(globalId('Account', other.accountId))).toBeNull()
    expect(await load(globalId('ApiKey', '018f0000-0000-7000-8000-000000000099'))).toBeNull()
    expect(await load(globalId('ApiKey', 'no uuid'))).toBeNull()
  })

  it.each(['updateApiKey', 'rotateApiKey', 'revokeApiKey'])(
    'are rejected by %s as keys that do not exist',
    async (mutation) => {
      const query = `mutation ($id: ID!) { ${mutation}(input: { id: $id }) { ... on InvalidInput { message fields { path } } } }`
      const change = async (keyId: string) =>
        (await harness.run(query, { key: account.adminKey, variables: { id: globalId('ApiKey', keyId) } })).data[
          mutation
        ]
      const foreign = await change(other.adminKeyId)
      expect(foreign).toEqual({ message: 'API key not found or expired', fields: [{ path: 'id' }] })
      expect(await change('018f0000-0000-7000-8000-000000000099')).toEqual(foreign)
      expect((await harness.run('{ viewer { id } }', { key: other.adminKey })).errors).toEqual([])
    },
  )

  it.each(['garbage', Buffer.from('Nothing:1').toString('base64'), ''])(
    'an id of no object (%j) is a coded error or null',
    async (id) => {
      const answer = await harness.run('query ($id: ID!) { node(id: $id) { id } }', {
        key: account.adminKey,
        variables: { id },
      })
      expect(answer.status).toBe(200)
      for (const code of codes(answer)) expect(code).toBe('BAD_USER_INPUT')
      expect(answer.data?.node ?? null).toBeNull()
    },
  )
})
