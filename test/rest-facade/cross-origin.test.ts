import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.ts'

const PAGE = 'https://wallet.example'

/** Headers that a page may read without being told so, or that are for the browser. */
const FOR_EVERYBODY =
  /^(cache-control|content-(length|type)|connection|keep-alive|transfer-encoding|vary|access-control-.*|x-content-type-options|referrer-policy|x-frame-options)$/

const listOf = (response: Response, name: string): string[] =>
  (response.headers.get(name) ?? '').split(', ').map((item) => item.toLowerCase())

const preflight = (url: string, { origin = PAGE, method = 'POST' } = {}) =>
  fetch(url, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': method,
      'access-control-request-headers': 'authorization,content-type,x-stainless-lang',
    },
  })

describe('pages of other origins', () => {
  let server: TestApp
  let key: string

  beforeAll(async () => {
    server = await startTestApp()
    key = (await server.createAccount()).adminKey
  })
  afterAll(() => server.close())

  const chat = (headers: Record<string, string> = {}) =>
    fetch(`${server.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: 'test-model', messages: [{ role: 'user', content: 'Hello' }] }),
    })

  test.each(['/chat/completions', '/api_keys', '/crypto/rpc/ethereum-mainnet', '/x402/top-up', '/no-such-path'])(
    'learn from a preflight of %s what they may send',
    async (path) => {
      const response = await preflight(server.baseUrl + path)
      expect(response.status).toBe(204)
      expect(await response.text()).toBe('')
      expect(response.headers.get('access-control-allow-origin')).toBe('*')
      expect(response.headers.get('access-control-allow-credentials')).toBeNull()
      expect(response.headers.get('access-control-max-age')).toBe('7200')
      expect(listOf(response, 'access-control-allow-methods')).toEqual(
        expect.arrayContaining(['get', 'post', 'patch', 'delete']),
      )
      expect(listOf(response, 'access-control-allow-headers')).toEqual(
        expect.arrayContaining([
          'authorization',
          'content-type',
          'idempotency-key',
          'sign-in-with-x',
          'x-sign-in-with-x',
          'payment-signature',
          'x-payment',
          'x-402-payment',
          'access-control-expose-headers',
          '*',
        ]),
      )
    },
  )

  test('may read every header of a response, by name', async () => {
    const answers = [
      await chat({ origin: PAGE }),
      await chat({ origin: PAGE, 'idempotency-key': 'one' }),
      await chat({ origin: PAGE, 'idempotency-key': 'one' }),
      await chat({ origin: PAGE, authorization: 'Bearer wrong' }),
      await fetch(`${server.baseUrl}/models`, { headers: { origin: PAGE } }),
      await fetch(`${server.baseUrl}/chat/completions`, { headers: { origin: PAGE } }),
      await fetch(`${server.baseUrl}/api_keys`, { headers: { origin: PAGE, authorization: `Bearer ${key}` } }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 401, 200, 405, 200])
    for (const response of answers) {
      expect(response.headers.get('access-control-allow-origin')).toBe('*')
      const hidden = [...response.headers.keys()].filter((name) => !FOR_EVERYBODY.test(name))
      expect(listOf(response, 'access-control-expose-headers')).toEqual(expect.arrayContaining(hidden))
      await response.body?.cancel()
    }
  })

  test('change nothing for clients other than browsers', async () => {
    const response = await chat()
    expect([...response.headers.keys()].filter((name) => /^(access-control|vary)/.test(name))).toEqual([])
  })

  test('cannot use the operator surface', async () => {
    const asked = await preflight(`${server.url}/trpc/accounts.create`)
    expect(asked.headers.get('access-control-allow-origin')).toBeNull()
    const health = await fetch(`${server.url}/metrics`, { headers: { origin: PAGE } })
    expect(health.headers.get('access-control-allow-origin')).toBeNull()
  })

  test('reach GraphQL by the same setting', async () => {
    const response = await preflight(`${server.url}/graphql`)
    expect(response.headers.get('access-control-allow-origin')).toBe(PAGE)
    expect(listOf(response, 'access-control-allow-headers')).toEqual(expect.arrayContaining(['authorization', '*']))
  })
})

describe('pages of configured origins', () => {
  let server: TestApp
  beforeAll(async () => {
    server = await startTestApp({ file: { service: { allowedOrigins: [`${PAGE}/`] } } })
  })
  afterAll(() => server.close())

  const models = (origin: string) => fetch(`${server.baseUrl}/models`, { headers: { origin } })

  test('are allowed, each by its name, and responses vary by origin for caches', async () => {
    const [asked, answer] = [await preflight(`${server.baseUrl}/models`), await models(PAGE)]
    for (const response of [asked, answer]) {
      expect(response.headers.get('access-control-allow-origin')).toBe(PAGE)
      expect(listOf(response, 'vary')).toContain('origin')
    }
    await answer.body?.cancel()
  })

  test('exclude pages of other origins, which may read nothing', async () => {
    const [asked, answer] = [
      await preflight(`${server.baseUrl}/models`, { origin: 'https://evil.example' }),
      await models('https://evil.example'),
    ]
    expect([asked.status, answer.status]).toEqual([204, 200])
    for (const response of [asked, answer]) {
      expect([...response.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
      expect(listOf(response, 'vary')).toContain('origin')
    }
    const graphql = await preflight(`${server.url}/graphql`, { origin: 'https://evil.example' })
    expect(graphql.headers.get('access-control-allow-origin')).toBeNull()
  })

  test('get responses that vary by origin and by encoding', async () => {
    const response = await fetch(`${server.baseUrl}/crypto/rpc/no-such-network`, {
      method: 'POST',
      headers: { origin: PAGE, authorization: `Bearer ${(await server.createAccount()).adminKey}` },
      body: '{}',
    })
    expect(listOf(response, 'vary').toSorted()).toEqual(['accept-encoding', 'origin'])
  })
})
