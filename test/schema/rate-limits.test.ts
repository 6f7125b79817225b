import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { codes, type GraphqlHarness, type GraphqlTestAccount, startGraphqlHarness } from '../support/graphql-harness.ts'
import { GraphqlSocket } from '../support/graphql-socket.ts'

const LIMITS = `query ($first: Int! = 20, $after: String) { viewer { rateLimits(first: $first, after: $after) {
  nodes { subject tier windows { type scope limit used remaining resetAt } } pageInfo { hasNextPage endCursor } } } }`
const LOG = `query ($first: Int! = 20, $after: String) { viewer { rateLimitLog(first: $first, after: $after) {
  nodes { refusalId apiKeyId subject tier type refusedAt } pageInfo { hasNextPage endCursor } } } }`
const EXCEEDED = 'subscription { rateLimitExceeded { count newest { apiKeyId subject tier type refusedAt } } }'
const ALPHA = { id: 'alpha', tier: 'M' } as const

let harness: GraphqlHarness
let account: GraphqlTestAccount

beforeAll(async () => {
  harness = await startGraphqlHarness()
})
afterAll(() => harness.close())
beforeEach(async () => {
  account = await harness.createAccount()
})

const callerOf = (key: string) => harness.keys.auth.authenticateKey(key)
const admit = async (key: string, tokens = 1) => {
  const { rateLimits, ratePlans } = harness.keys
  return rateLimits.admit(ratePlans.planForText(await callerOf(key), ALPHA, tokens))
}
const refuse = async (key: string, times = 1) => {
  for (let count = 0; count < 50 + times; count++) await admit(key).catch(() => undefined)
}
const limitsOf = async (key: string, variables: object = {}) =>
  (await harness.run(LIMITS, { key, variables })).data.viewer.rateLimits

describe('viewer.rateLimits', () => {
  it('shows the fill that the limiter sees, to INFERENCE keys as well', async () => {
    await admit(account.adminKey, 1_000)
    const before = harness.clock.nowMs()
    harness.clock.advance(5_000)
    const { nodes } = await limitsOf(account.inferenceKey)
    const resetAt = new Date(before + 60_000).toISOString()
    expect(nodes[0]).toEqual({
      subject: 'alpha',
      tier: 'M',
      windows: [
        { type: 'RPM', scope: 'USER', limit: 50, used: 1, remaining: 49, resetAt },
        { type: 'TPM', scope: 'USER', limit: 750_000, used: 1_000, remaining: 749_000, resetAt },
      ],
    })
    expect(nodes.map(({ subject }: { subject: string }) => subject)).toEqual([
      'alpha',
      'beta',
      'gamma',
      'endpoint:api/v1/crypto/rpc',
      'endpoint:api/v1/api_keys',
      'endpoint:api/v1',
    ])
    // This very query took one request of the management window.
    expect(nodes.at(-1).windows).toMatchObject([{ scope: 'GLOBAL', limit: 600, used: 1 }])
  })

  it('is read page by page, each with one call of the store', async () => {
    const peek = vi.spyOn(harness.keys.rateLimits, 'fillOf')
    const first = await limitsOf(account.adminKey, { first: 4 })
    const second = await limitsOf(account.adminKey, { first: 4, after: first.pageInfo.endCursor })
    expect([first.nodes.length, second.nodes.length]).toEqual([4, 2])
    expect([first.pageInfo.hasNextPage, second.pageInfo.hasNextPage]).toEqual([true, false])
    expect(peek).toHaveBeenCalledTimes(2)
    peek.mockRestore()
    const other = await harness.createAccount()
    const foreign = await harness.run(LIMITS, {
      key: other.adminKey,
      variables: { after: first.pageInfo.endCursor },
    })
    expect(codes(foreign)).toEqual(['BAD_USER_INPUT'])
  })

  it("shows what an operator set on the key beside the account's limits, at once", async () => {
    const { accountId, inferenceKeyId: keyId } = account
    await limitsOf(account.inferenceKey)
    await harness.keys.limitOverrides.set({ accountId, keyId, limits: { text: { M: { requestsPerMinute: 3 } } } })
    await harness.keys.limitOverrides.set({ accountId, limits: { image: { requestsPerMinute: 5 } } })
    await admit(account.inferenceKey)
    await admit(account.adminKey)
    const { nodes } = await limitsOf(account.inferenceKey)
    expect(nodes[0].windows).toMatchObject([
      { type: 'RPM', scope: 'USER', limit: 50, used: 2 },
      { type: 'TPM', scope: 'USER' },
      { type: 'RPM', scope: 'API_KEY', limit: 3, used: 1 },
    ])
    expect(nodes[2].windows).toMatchObject([{ limit: 5, used: 0 }])
    expect((await limitsOf(account.adminKey)).nodes[0].windows).toHaveLength(2)
    await harness.keys.limitOverrides.clear({ accountId, keyId })
    expect((await limitsOf(account.inferenceKey)).nodes[0].windows).toHaveLength(2)
  })
})

describe('viewer.rateLimitLog', () => {
  it("lists the account's rejections newest first, page by page", async () => {
    await refuse(account.inferenceKey, 3)
    const first = (await harness.run(LOG, { key: account.adminKey, variables: { first: 2 } })).data.viewer.rateLimitLog
    expect(first.nodes).toHaveLength(2)
    expect(first.nodes[0]).toEqual({
      refusalId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      apiKeyId: account.inferenceKeyId,
      subject: 'alpha',
      tier: 'M',
      type: 'RPM',
      refusedAt: harness.clock.now().toISOString(),
    })
    const variables = { after: first.pageInfo.endCursor }
    const rest = (await harness.run(LOG, { key: account.adminKey, variables })).data.viewer.rateLimitLog
    expect([rest.nodes.length, rest.pageInfo.hasNextPage]).toEqual([1, false])
    const other = await harness.createAccount()
    expect((await harness.run(LOG, { key: other.adminKey })).data.viewer.rateLimitLog.nodes).toEqual([])
    expect(codes(await harness.run(LOG, { key: other.adminKey, variables }))).toEqual(['BAD_USER_INPUT'])
  })

  it('is not for INFERENCE keys', async () => {
    expect(codes(await harness.run(LOG, { key: account.inferenceKey }))).toEqual(['FORBIDDEN'])
  })
})

describe('rateLimitExceeded', () => {
  it("delivers the account's rejections, equal ones in quick succession as one event", async () => {
    const socket = await GraphqlSocket.open(harness.socketUrl, account.adminKey)
    socket.subscribe('1', EXCEEDED)
    const stranger = await harness.createAccount()
    await refuse(stranger.inferenceKey)
    let message: unknown
    void socket.next().then((arrived) => (message = arrived))
    // What was refused before the subscription stood is not delivered, so it goes on until something is.
    await eventually(async () => {
      await refuse(account.inferenceKey, 40)
      expect(message).toMatchObject({
        type: 'next',
        payload: {
          data: {
            rateLimitExceeded: {
              count: expect.any(Number),
              newest: { apiKeyId: account.inferenceKeyId, subject: 'alpha', tier: 'M', type: 'RPM' },
            },
          },
        },
      })
    })
    expect(message).not.toMatchObject({ payload: { data: { rateLimitExceeded: { count: 1 } } } })
    await socket.close()
  })

  it('is not for INFERENCE keys', async () => {
    const socket = await GraphqlSocket.open(harness.socketUrl, account.inferenceKey)
    socket.subscribe('1', EXCEEDED)
    expect(await socket.next()).toMatchObject({ payload: { errors: [{ extensions: { code: 'FORBIDDEN' } }] } })
    await socket.close()
  })
})
