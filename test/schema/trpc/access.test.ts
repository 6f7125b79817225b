import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createOperatorClient } from '../../../client/cli/operator-client.ts'
import { NAMED_OPERATOR_TOKEN, OPERATOR_TOKEN, startTestApp, type TestApp } from '../../support/app.ts'
import { createFakeClock } from '../../support/fake-clock.ts'

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

describe('guessing the operator token', () => {
  test('ends after 20 wrong tokens of an address: then even the right one waits, on /metrics too', async () => {
    const clock = createFakeClock()
    await using server = await startTestApp({ overrides: { clock } })
    const list = (token: string) => fetch(`${server.url}/trpc/accounts.list`, { headers: bearer(token) })
    for (let count = 0; count < 20; count += 1) expect((await list(`wrong-${count}`)).status).toBe(401)
    expect((await list(OPERATOR_TOKEN)).status).toBe(200)
    expect((await list('wrong-20')).status).toBe(401)
    const blocked = await list(OPERATOR_TOKEN)
    expect(blocked.status).toBe(429)
    expect(blocked.headers.get('retry-after')).toBe('30')
    expect(await blocked.json()).toMatchObject({ error: { data: { domainCode: 'abuse_blocked' } } })
    expect((await fetch(`${server.url}/metrics`, { headers: bearer(OPERATOR_TOKEN) })).status).toBe(429)
    clock.advance(30_000)
    expect((await list(NAMED_OPERATOR_TOKEN)).status).toBe(200)
    expect((await fetch(`${server.url}/metrics`, { headers: bearer(NAMED_OPERATOR_TOKEN) })).status).toBe(200)
  })

  test('hinders nobody else: calls without a token and wrong API keys count for nothing, and keys go on working', async () => {
    await using server = await startTestApp()
    const { adminKey } = await server.createAccount()
    for (let count = 0; count < 25; count += 1) await fetch(`${server.url}/trpc/accounts.list`)
    for (let count = 0; count < 25; count += 1)
      await fetch(`${server.baseUrl}/api_keys`, { headers: bearer(`wrong-${count}`) })
    await createOperatorClient(server.url, OPERATOR_TOKEN).accounts.list.query()
    for (let count = 0; count < 25; count += 1)
      await fetch(`${server.url}/trpc/accounts.list`, { headers: bearer(`wrong-${count}`) })
    expect((await fetch(`${server.baseUrl}/api_keys`, { headers: bearer(adminKey) })).status).toBe(200)
  })
})

describe('odd requests are rejected in the surface’s own form, without a word about its insides', () => {
  let server: TestApp
  beforeAll(async () => {
    server = await startTestApp()
  })
  afterAll(() => server.close())
  const headers = { ...bearer(OPERATOR_TOKEN), 'content-type': 'application/json' }
  test.each<[string, string, RequestInit, number]>([
    ['an unknown procedure', 'accounts.drop', {}, 404],
    ['a path into the prototype', '__proto__.constructor', {}, 404],
    ['a mutation by GET', 'accounts.create?input=%7B%7D', {}, 405],
    ['a query by POST', 'accounts.list', { method: 'POST', body: '{}' }, 405],
    ['broken JSON', 'accounts.create', { method: 'POST', body: '{"name":' }, 400],
    ['broken input in the URL', 'accounts.list?input=%7B', {}, 400],
    ['a list as input', 'accounts.create', { method: 'POST', body: '[1]' }, 400],
    [
      'text',
      'accounts.create',
      { method: 'POST', body: 'x', headers: { ...headers, 'content-type': 'text/plain' } },
      415,
    ],
    ['a form', 'accounts.create', { method: 'POST', body: new FormData(), headers: bearer(OPERATOR_TOKEN) }, 400],
  ])('%s', async (_, path, init, status) => {
    const response = await fetch(`${server.url}/trpc/${path}`, { headers, ...init })
    const text = await response.text()
    expect([response.status, text]).toEqual([status, expect.stringContaining('"error"')])
    expect(text).not.toMatch(/stack|node_modules|\.ts:|at Object|select |zod/i)
    expect(response.headers.get('cf-ray')).toMatch(/^[0-9a-f]{32}$/)
    expect(response.headers.get('cache-control')).toBe('no-store')
  })
})
