import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.ts'

describe('bad input gets a clear error with the right status, and costs nothing', () => {
  let server: TestApp
  let key: string
  let accountId: string

  beforeAll(async () => {
    // Failing on purpose a few dozen times a second would block the key.
    server = await startTestApp({ file: { limits: { abuse: { failures: 10_000 } } } })
    const account = await server.createAccount()
    accountId = account.accountId
    key = account.adminKey
  })
  afterAll(async () => {
    expect(await server.balanceNanoUsd(accountId)).toBe(1_000_000_000n)
    expect(server.provider.requests).toHaveLength(0)
    await server.assertLedgerClean()
    await server.close()
  })

  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    fetch(server.baseUrl + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  const chat = (overrides: object) => ({
    model: 'test-model',
    messages: [{ role: 'user', content: 'Hello' }],
    ...overrides,
  })

  test.each([
    ['a body that is no JSON', '{"model": ', 400, /not valid JSON/],
    ['an empty body', '', 400, /body|model/],
    ['a body that is a list', '[]', 400, /./],
    ['no model', chat({ model: undefined }), 400, /model is required/],
    ['a model that is a number', chat({ model: 7 }), 400, /model must be a string/],
    ['an unknown model', chat({ model: 'no-such-model' }), 404, /Specified model not found/],
    ['no messages', chat({ messages: [] }), 400, /messages/],
    ['messages that are text', chat({ messages: 'Hello' }), 400, /messages/],
    ['a temperature that is text', chat({ temperature: 'warm' }), 400, /temperature/],
    ['a temperature below zero', chat({ temperature: -1 }), 400, /temperature/],
    ['top_p above one', chat({ top_p: 2 }), 400, /top_p/],
    ['n beyond what is served', chat({ n: 1_000 }), 400, /n/],
    ['n below zero', chat({ n: -1 }), 400, /n/],
    ['max_tokens beyond the model', chat({ max_tokens: 8_193 }), 400, /8,?192/],
    ['a fraction of a token', chat({ max_tokens: 1.5 }), 400, /max_tokens/],
    [
      'a search that nobody serves',
      chat({ service_parameters: { enable_web_search: 'on' } }),
      400,
      /enable_web_search/,
    ],
    ['a search switched on by suffix', chat({ model: 'test-model:enable_web_search=on' }), 400, /enable_web_search/],
    ['a stop list that is too long', chat({ stop: ['a', 'b', 'c', 'd', 'e'] }), 400, /stop/],
    ['tools that are text', chat({ tools: 'all' }), 400, /tools/],
  ] as const)('chat: %s', async (_name, body, status, message) => {
    const response = await post('/chat/completions', body)
    const answer = (await response.json()) as { error: string | { message: string } }
    expect({ status: response.status, answer }).toMatchObject({ status })
    expect(typeof answer.error === 'string' ? answer.error : answer.error.message).toMatch(message)
  })

  test('chat: a prompt beyond the context window, in the form that clients match on', async () => {
    const response = await post(
      '/chat/completions',
      chat({ messages: [{ role: 'user', content: 'one two '.repeat(400_000) }] }),
    )
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({
      error: { code: 'context_length_exceeded', type: 'invalid_request_error' },
    })
  })

  test.each([
    ['token ids', { model: 'test-embedding', input: [1, 2, 3] }, /Token array inputs are not supported/],
    ['lists of token ids', { model: 'test-embedding', input: [[1, 2], [3]] }, /Token array inputs are not supported/],
    ['no input', { model: 'test-embedding' }, /input/],
    ['an empty text', { model: 'test-embedding', input: '' }, /input/],
    ['an empty list', { model: 'test-embedding', input: [] }, /input/],
    ['2049 texts', { model: 'test-embedding', input: Array.from({ length: 2_049 }, () => 'x') }, /2,?048/],
    ['no dimensions at all', { model: 'test-embedding', input: 'x', dimensions: 0 }, /dimensions/],
    ['an unknown encoding', { model: 'test-embedding', input: 'x', encoding_format: 'hex' }, /encoding_format/],
  ] as const)('embeddings: %s', async (_name, body, message) => {
    const response = await post('/embeddings', body)
    const answer = (await response.json()) as { error: string }
    expect({ status: response.status, answer }).toMatchObject({ status: 400 })
    expect(answer.error).toMatch(message)
  })

  test.each([
    ['no key', { authorization: '' }, 401],
    ['a wrong key', { authorization: 'Bearer sk-wrong' }, 401],
    ['a key with a wrong checksum', { authorization: `Bearer service_inf_${'0'.repeat(38)}` }, 401],
    ['another scheme', { authorization: 'Basic dXNlcjpwYXNz' }, 401],
    ['another content type', { 'content-type': 'text/plain' }, 415],
  ])('credentials and types: %s', async (_name, headers, status) => {
    const response = await post('/chat/completions', chat({}), headers)
    expect(response.status).toBe(status)
    expect(await response.json()).toHaveProperty('error')
  })

  test('an INFERENCE key on an ADMIN route gets the message that an ADMIN key is required', async () => {
    const created = await post('/api_keys', { apiKeyType: 'INFERENCE', description: 'weak' })
    const { data } = (await created.json()) as { data: { apiKey: string } }
    const response = await fetch(`${server.baseUrl}/api_keys`, { headers: { authorization: `Bearer ${data.apiKey}` } })
    expect(response.status).toBe(401)
    expect(await response.json()).toMatchObject({ error: 'Admin API key required' })
  })

  test('a model that the key may not use is rejected with the setting and the model named', async () => {
    const body = { apiKeyType: 'INFERENCE', description: 'private', modelPrivacy: 'PRIVATE_ONLY' }
    const { data } = (await (await post('/api_keys', body)).json()) as { data: { apiKey: string } }
    const response = await post('/chat/completions', chat({ model: 'anonymous-model' }), {
      authorization: `Bearer ${data.apiKey}`,
    })
    expect(response.status).toBe(403)
    expect(((await response.json()) as { error: string }).error).toMatch(
      /PRIVATE_ONLY.*anonymous-model|anonymous-model.*PRIVATE_ONLY/,
    )
  })

  test('a body of 36 MB is rejected before it is read', async () => {
    const response = await post('/chat/completions', 'x'.repeat(36 * 1024 * 1024))
    expect(response.status).toBe(413)
    expect(await response.json()).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' })
  })

  test('a chunked body is cut at the limit', async () => {
    expect(await sendChunked(`${server.baseUrl}/api_keys`, key, 64 * 1024)).toBe(413)
  })

  test('a header bomb is rejected', async () => {
    expect(await sendHeader(`${server.baseUrl}/models`, 'x'.repeat(64 * 1024))).toBe(431)
  })

  test('an unknown path and a wrong method are named', async () => {
    expect((await fetch(`${server.baseUrl}/nothing`)).status).toBe(404)
    const response = await fetch(`${server.baseUrl}/chat/completions`)
    expect({ status: response.status, allow: response.headers.get('allow') }).toEqual({ status: 405, allow: 'POST' })
  })
})

function sendChunked(url: string, key: string, bytes: number): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'transfer-encoding': 'chunked',
    }
    const outgoing = request(url, { method: 'POST', headers }, (response) => resolve(response.statusCode))
    outgoing.on('error', reject)
    outgoing.write(`"${'x'.repeat(bytes)}`)
  })
}

function sendHeader(url: string, value: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(url, { headers: { 'x-bomb': value } }, (response) => resolve(response.statusCode))
      .on('error', reject)
      .end()
  })
}
