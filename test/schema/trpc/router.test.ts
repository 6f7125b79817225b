import { TRPCClientError } from '@trpc/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createOperatorClient, type OperatorClient } from '../../../client/cli/operator-client.ts'
import { TRPC_CODES } from '../../../schema/trpc/errors.ts'
import { DOMAIN_ERROR_CODES, DomainError } from '../../../server/domain/errors.ts'
import type { Services } from '../../../server/domain/services.ts'
import { OPERATOR_TOKEN, startTestApp, type TestApp } from '../../support/app.ts'

let server: TestApp
let services: Services
let client: OperatorClient
const logged: string[] = []

beforeAll(async () => {
  const log = { info: () => {}, warn: () => {}, error: (message: string) => logged.push(message) }
  server = await startTestApp({ overrides: { log } })
  services = server.app.services
  client = createOperatorClient(server.url, OPERATOR_TOKEN)
})
afterAll(() => server.close())

async function failureOf(call: Promise<unknown>): Promise<{ message: string; data: Record<string, unknown> }> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof TRPCClientError)) throw new Error('The call did not fail')
  return { message: error.message, data: error.data }
}

describe('access', () => {
  test.each(['', 'wrong', `${OPERATOR_TOKEN}x`, OPERATOR_TOKEN.slice(0, -1)])(
    'the token %j opens nothing',
    async (token) => {
      const stranger = createOperatorClient(server.url, token)
      for (const call of [stranger.accounts.list.query(), stranger.platform.verify.query()]) {
        expect((await failureOf(call)).data).toMatchObject({ code: 'UNAUTHORIZED', httpStatus: 401 })
      }
      const name = `made by ${token}`
      expect((await failureOf(stranger.accounts.create.mutate({ name }))).data['code']).toBe('UNAUTHORIZED')
      expect((await client.accounts.list.query()).accounts.map((account) => account.name)).not.toContain(name)
    },
  )

  test('an ADMIN key of an account is not an operator token', async () => {
    const { adminKey } = await server.createAccount()
    const call = createOperatorClient(server.url, adminKey).accounts.list.query()
    expect((await failureOf(call)).data['code']).toBe('UNAUTHORIZED')
  })
})

describe('accounts', () => {
  test('are made, granted, staked and read with exact decimal strings', async () => {
    const made = await client.accounts.create.mutate({ name: 'demo', grantUsd: '0.000000001', tier: 'partner' })
    const { accountId } = made.account
    expect(made.adminKey).toMatch(/^service_adm_/)
    const granted = await client.accounts.grant.mutate({ accountId, amountUsd: '999999999.999999999', reason: 'r' })
    expect(granted).toMatchObject({ amountUsd: '999999999.999999999', balanceAfterUsd: '1000000000' })
    await client.accounts.setStake.mutate({ accountId, stakeDiem: '2.5' })
    expect(await client.accounts.setTier.mutate({ accountId, tier: 'staff' })).toEqual({
      accountId,
      name: 'demo',
      kind: 'user',
      wallet: null,
      tier: 'staff',
      balances: { usd: '1000000000', diem: '2.5' },
      held: { usd: '0', diem: '0' },
      stakeDiem: '2.5',
      createdAt: expect.any(String),
      suspension: null,
    })
    expect(await client.accounts.get.query({ accountId })).toMatchObject({ tier: 'staff' })
  })

  test('are listed in pages', async () => {
    await server.createAccount()
    await server.createAccount()
    const first = await client.accounts.list.query({ first: 1 })
    const second = await client.accounts.list.query({ first: 1, after: first.endCursor })
    expect(first.hasNextPage).toBe(true)
    expect(second.accounts[0]?.accountId).not.toBe(first.accounts[0]?.accountId)
  })
})

describe('keys', () => {
  test('are made, listed without their secret, and revoked', async () => {
    const { accountId } = await server.createAccount()
    const limits = { usd: '9999999999', diem: null }
    const { key, apiKey } = await client.keys.create.mutate({ accountId, type: 'INFERENCE', description: 'd', limits })
    expect(await services.access.auth.authenticateKey(apiKey)).toMatchObject({ accountId, keyId: key.keyId })
    const listed = await client.keys.list.query({ accountId })
    expect(JSON.stringify(listed)).not.toContain(apiKey)
    expect(listed.find(({ keyId }) => keyId === key.keyId)).toMatchObject({
      limits: { usd: '9999999999', diem: null },
      usage: { currentPeriod: { usd: '0', diem: '0' } },
    })
    await client.keys.revoke.mutate({ accountId, keyId: key.keyId })
    await expect(services.access.auth.authenticateKey(apiKey)).rejects.toThrow('Authentication failed')
  })

  test('cannot be revoked through another account', async () => {
    const [one, two] = [await server.createAccount(), await server.createAccount()]
    const call = client.keys.revoke.mutate({
      accountId: two.accountId,
      keyId: (await services.access.auth.authenticateKey(one.adminKey)).keyId,
    })
    expect(await failureOf(call)).toMatchObject({
      message: 'API key not found or expired',
      data: { code: 'BAD_REQUEST' },
    })
    expect(await services.access.auth.authenticateKey(one.adminKey)).toBeDefined()
  })
})

test('verification names every check', async () => {
  const { ok, checks } = await client.platform.verify.query()
  expect(ok).toBe(true)
  expect(checks.map((check) => check.id)).toContain('I1')
})

describe('errors', () => {
  test('every domain code has a tRPC code', () => {
    expect(Object.keys(TRPC_CODES).toSorted()).toEqual([...DOMAIN_ERROR_CODES].toSorted())
  })

  test('bad input names its fields and what they hold, in a sentence and in the tree', async () => {
    const call = client.accounts.create.mutate({ name: '', balance: '5', tier: 'gold' } as never)
    expect(await failureOf(call)).toMatchObject({
      message: expect.stringMatching(/name: .*tier: .*\(it is "gold"\).*"balance"/),
      data: {
        code: 'BAD_REQUEST',
        domainCode: 'invalid_request',
        details: { name: { _errors: [expect.any(String)] } },
      },
    })
  })

  test('a domain error keeps its code, sentence and status', async () => {
    const call = client.accounts.get.query({ accountId: 'nonsense' })
    expect(await failureOf(call)).toMatchObject({
      message: 'The account nonsense does not exist',
      data: { code: 'NOT_FOUND', httpStatus: 404, domainCode: 'not_found' },
    })
  })

  test('an unknown error reveals nothing: no text, no stack, but a log line', async () => {
    const get = services.accounts.get.bind(services.accounts)
    for (const thrown of [new Error('select secret from db.internal'), new DomainError('internal', 'details inside')]) {
      services.accounts.get = () => Promise.reject(thrown)
      const response = await fetch(`${server.url}/trpc/accounts.get?input=${encodeURIComponent('{"accountId":"a"}')}`, {
        headers: { authorization: `Bearer ${OPERATOR_TOKEN}` },
      })
      const text = await response.text()
      expect(response.status).toBe(500)
      expect(JSON.parse(text)).toMatchObject({ error: { message: 'Internal error.', data: { domainCode: null } } })
      expect(text).not.toMatch(/stack|secret|inside|node_modules/)
      expect(logged.splice(0)).toEqual(['operator call failed'])
    }
    services.accounts.get = get
  })

  test('a body above 256 KiB and a batch above 20 calls are rejected', async () => {
    const headers = { authorization: `Bearer ${OPERATOR_TOKEN}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ name: 'x'.repeat(300_000) })
    const large = await fetch(`${server.url}/trpc/accounts.create`, { method: 'POST', headers, body })
    expect(large.status).toBe(413)
    const paths = Array.from({ length: 21 }, () => 'accounts.list').join(',')
    expect((await fetch(`${server.url}/trpc/${paths}?batch=1`, { headers })).status).toBe(400)
  })
})
