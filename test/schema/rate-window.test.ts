import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LimitTable } from '../../server/domain/rate-limits/limit-table.ts'
import { RatePlans } from '../../server/domain/rate-limits/rate-plans.ts'
import { startTestApp } from '../support/app.ts'
import { codes, type GraphqlHarness, type GraphqlTestAccount, startGraphqlHarness } from '../support/graphql-harness.ts'
import { GraphqlSocket } from '../support/graphql-socket.ts'

const BALANCE = 'subscription { balanceChanged { balances { free } } }'
const LIMITS = { management: { requestsPerMinute: 3 } }

let harness: GraphqlHarness
let account: GraphqlTestAccount

beforeEach(async () => {
  harness = await startGraphqlHarness({
    services: { limits: { ratePlans: new RatePlans(LimitTable.parse(LIMITS)) } },
  })
  account = await harness.createAccount()
})
afterEach(() => harness.close())

const read = (key: string) => harness.run('{ viewer { id } models { nodes { name } } }', { key })
const useUp = async () => {
  for (let i = 0; i < 3; i++) expect((await read(account.adminKey)).errors).toEqual([])
}

describe("an account's operations", () => {
  it('take one request each from one window, whose numbers are in every response', async () => {
    const headers = async (key: string) => {
      const { headers } = await read(key)
      return ['limit-requests', 'remaining-requests', 'type'].map((name) => headers.get(`x-ratelimit-${name}`))
    }
    expect(await headers(account.adminKey)).toEqual(['3', '2', 'global'])
    expect(await headers(account.inferenceKey)).toEqual(['3', '1', 'global'])
    expect(await headers(account.adminKey)).toEqual(['3', '0', 'global'])
  })

  it('are rejected with a code and the wait once it is used up, and served after the announced reset', async () => {
    await useUp()
    const refused = await read(account.inferenceKey)
    expect(refused.status).toBe(429)
    expect(refused.data).toBeUndefined()
    const retryAfterSeconds = Number(refused.headers.get('retry-after'))
    expect(refused.errors).toMatchObject([{ extensions: { code: 'RATE_LIMITED', retryAfterSeconds } }])
    expect(retryAfterSeconds).toBeGreaterThan(0)
    expect(refused.headers.get('x-ratelimit-remaining-requests')).toBe('0')
    harness.clock.set(new Date(Number(refused.headers.get('x-ratelimit-reset-requests')) * 1_000).toISOString())
    expect((await read(account.inferenceKey)).errors).toEqual([])
  })

  it('change nothing when they are rejected', async () => {
    await useUp()
    const mutation = 'mutation { createApiKey(input: { type: ADMIN, description: "x" }) { __typename } }'
    expect(codes(await harness.run(mutation, { key: account.adminKey }))).toEqual(['RATE_LIMITED'])
    expect(await harness.keys.apiKeys.listPage(account.accountId, { first: 10 })).toMatchObject({ items: [{}, {}] })
  })

  it('do not count for other accounts or for callers without a key, who have no such headers', async () => {
    await useUp()
    expect((await read((await harness.createAccount()).adminKey)).errors).toEqual([])
    const anonymous = await harness.run('{ models { nodes { name } } }')
    expect(anonymous.errors).toEqual([])
    expect(anonymous.headers.get('x-ratelimit-type')).toBeNull()
  })
})

describe('a subscription', () => {
  it('takes one request when it starts on a socket and none with its events', async () => {
    const socket = await GraphqlSocket.open(harness.socketUrl, account.adminKey)
    socket.subscribe('1', BALANCE)
    await socket.next()
    for (let change = 1; change <= 4; change++) {
      await harness.money.ledger.grant({ accountId: account.accountId, amountNanoUsd: 1n, reason: 'test' })
      expect(await socket.next()).toMatchObject({ type: 'next', id: '1' })
    }
    for (const id of ['2', '3']) {
      socket.subscribe(id, BALANCE)
      expect(await socket.next()).toMatchObject({ type: 'next', id })
    }
    socket.subscribe('4', BALANCE)
    const expected = { code: 'RATE_LIMITED', retryAfterSeconds: expect.any(Number) }
    expect(await socket.next()).toMatchObject({ type: 'error', id: '4', payload: [{ extensions: expected }] })
    await socket.close()
  })

  it('is rejected as an event stream with 429', async () => {
    await useUp()
    const headers = { accept: 'text/event-stream', authorization: `Bearer ${account.adminKey}` }
    const response = await harness.post(JSON.stringify({ query: BALANCE }), headers)
    expect(response.status).toBe(429)
    expect(await response.text()).toContain('RATE_LIMITED')
  })
})

describe('the window', () => {
  it('is the one that the management routes of the REST API take from', async () => {
    await using testApp = await startTestApp({ file: { limits: { management: { requestsPerMinute: 2 } } } })
    const { adminKey } = await testApp.createAccount()
    const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' }
    const rest = () => fetch(`${testApp.baseUrl}/api_keys`, { headers })
    const graphql = () =>
      fetch(`${testApp.url}/graphql`, { method: 'POST', headers, body: '{"query":"{ viewer { id } }"}' })
    const served = [await rest(), await graphql()]
    expect(served.map((response) => response.headers.get('x-ratelimit-remaining-requests'))).toEqual(['1', '0'])
    expect([(await rest()).status, (await graphql()).status]).toEqual([429, 429])
  })
})
