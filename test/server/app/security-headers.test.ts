import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { securityHeaders } from '../../../server/app/security-headers.ts'
import { OPERATOR_TOKEN, startTestApp, type TestApp } from '../../support/app.ts'

let app: TestApp
let adminKey: string
beforeAll(async () => {
  app = await startTestApp({ file: { service: { allowedOrigins: ['https://a.example'] } } })
  adminKey = (await app.createAccount()).adminKey
})
afterAll(() => app.close())

/** The bytes of the response's head, in lower case, as they leave the process. */
async function headOf(request: string): Promise<string> {
  const { hostname, port } = new URL(app.url)
  const socket = connect({ host: hostname, port: Number(port) })
  socket.write(request)
  let text = ''
  for await (const chunk of socket) {
    text += String(chunk)
    if (text.includes('\r\n\r\n')) break
  }
  socket.destroy()
  return (text.split('\r\n\r\n')[0] ?? '').toLowerCase()
}

const EXPECTED = ['x-content-type-options: nosniff', 'referrer-policy: no-referrer', 'x-frame-options: deny']

const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`
const post = (path: string, body: string, headers = '') =>
  `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n${headers}\r\n${body}`
const key = () => `Authorization: Bearer ${adminKey}\r\n`
const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n'
const chat = (stream: boolean) =>
  JSON.stringify({ model: 'test-model', stream, messages: [{ role: 'user', content: 'Hi' }] })

const RESPONSES: [string, number, () => string][] = [
  ['a REST response', 200, () => get('/api/v1/models')],
  ['a compressed REST response', 200, () => get('/api/v1/models', 'Accept-Encoding: gzip\r\n')],
  ['a REST response by the slow path', 200, () => get('/api/v1/models/')],
  ['a REST response to a page of another origin', 200, () => get('/api/v1/models', 'Origin: https://a.example\r\n')],
  [
    'a preflight',
    204,
    () =>
      'OPTIONS /api/v1/models HTTP/1.1\r\nHost: localhost\r\nOrigin: https://a.example\r\nAccess-Control-Request-Method: GET\r\n\r\n',
  ],
  ['a chat', 200, () => post('/api/v1/chat/completions', chat(false), key())],
  ['a streamed chat', 200, () => post('/api/v1/chat/completions', chat(true), key())],
  ['a REST error', 401, () => get('/api/v1/api_keys')],
  ['an unreadable path', 400, () => get('/api/v1/%')],
  ['an unknown REST route', 404, () => get('/api/v1/nothing')],
  ['a REST route with another method', 405, () => get('/api/v1/chat/completions')],
  ['an unknown path', 404, () => get('/nothing')],
  ['GraphQL', 200, () => post('/graphql', '{"query":"{ __typename }"}')],
  [
    'a GraphQL error',
    400,
    () => post('/graphql', '{"query":"{ nothing }"}', 'Accept: application/graphql-response+json\r\n'),
  ],
  ['a GraphQL body that is no JSON', 400, () => post('/graphql', '{')],
  ['an operator call', 401, () => get('/trpc/platform.verify')],
  ['an unknown operator call', 404, () => get('/trpc/nothing', `Authorization: Bearer ${OPERATOR_TOKEN}\r\n`)],
  ['liveness', 200, () => get('/health/live')],
  ['readiness', 200, () => get('/health/ready')],
  ['metrics', 200, () => get('/metrics', `Authorization: Bearer ${OPERATOR_TOKEN}\r\n`)],
  ['metrics without a token', 401, () => get('/metrics')],
  ['a request without a host', 400, () => 'GET /api/v1/models HTTP/1.1\r\n\r\n'],
  ['an unknown expectation', 417, () => get('/api/v1/models', 'Expect: nothing\r\n')],
  ['a request that is not HTTP', 400, () => 'nonsense\r\n\r\n'],
  ['a request with too large headers', 431, () => get('/', `X-Large: ${'a'.repeat(20_000)}\r\n`)],
  ['an upgrade of an unknown path', 404, () => get('/nothing', upgrade)],
  ['a WebSocket handshake without a key', 400, () => get('/graphql', upgrade)],
  ['an upgrade from another origin', 403, () => get('/graphql', `${upgrade}Origin: https://b.example\r\n`)],
]

describe('security headers', () => {
  test.each(RESPONSES)('are on %s', async (_, status, request) => {
    const head = await headOf(request())
    expect(head.split(' ')[1]).toBe(String(status))
    for (const line of EXPECTED) expect(head.split(`\r\n${line}`)).toHaveLength(2)
    expect(head).not.toContain('strict-transport-security')
  })

  test('have HSTS only if the public URL is https', () => {
    expect(securityHeaders('https://api.example.com')).toContain('Strict-Transport-Security')
    expect(securityHeaders('http://localhost:3000')).not.toContain('Strict-Transport-Security')
  })
})
