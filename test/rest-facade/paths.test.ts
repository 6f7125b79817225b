import { type IncomingHttpHeaders, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp, testModels } from '../support/app.ts'

const SLASHED = { id: 'open/Model', type: 'text', providers: [{ id: 'main', model: 'a' }], name: 'Slashed' }
const PERCENT = { ...SLASHED, id: '50%', name: 'Percent' }
const UNLIMITED = { abuse: { failures: 1_000_000 }, management: { requestsPerMinute: 1_000_000 } }

let app: TestApp
let key: string
beforeAll(async () => {
  app = await startTestApp({ file: { models: [...testModels(), SLASHED, PERCENT], limits: UNLIMITED } })
  key = (await app.createAccount()).adminKey
})
afterAll(() => app.close())

interface Answer {
  status: number
  headers: IncomingHttpHeaders
  body: string
}

/** Sends the request target as it is written; `fetch` would normalize it. */
function send(method: string, target: string, headers: Record<string, string> = {}): Promise<Answer> {
  const { hostname, port } = new URL(app.url)
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const sent = request({
    hostname,
    port,
    method,
    path: target,
    headers: { authorization: `Bearer ${key}`, ...headers },
  })
  sent.once('error', reject)
  sent.once('response', (response) => {
    text(response).then(
      (body) => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }),
      reject,
    )
  })
  sent.end()
  return promise
}

/** The members of a served object, or the code of a rejection with its sentence. */
function outcomeOf({ status, body }: Answer): string {
  const { code, error, id, ...members } = JSON.parse(body) as { code?: string; error?: string; id?: string }
  if (code !== undefined) return `${status} ${code}: ${error}`
  return `${status} ${id ?? Object.keys(members).join()}`
}

const LIST = '200 object,type,data'
const OUTSIDE = '; the REST API is at /api/v1, GraphQL at /graphql'
const UNREADABLE =
  '400 INVALID_REQUEST: The path is not valid: write each % as %25, and other characters as percent-encoded UTF-8'
const NO_KEY = '400 INVALID_REQUEST: API key not found'
const noModel = (id: string) => `404 MODEL_NOT_FOUND: Specified model not found: ${id}. GET /models lists all models.`
const nothingAt = (path: string, after = '') => `404 NOT_FOUND: GET ${path} does not exist${after}`
const only = (method: string) => `405 METHOD_NOT_ALLOWED: GET is not supported here; use ${method}`
const LONG = 'a'.repeat(300)

describe('a path below /api/v1', () => {
  test.each([
    ['/api/v1/models', LIST],
    ['/api/v1/models/', LIST],
    ['/api/v1/models/?type=text', LIST],
    ['/api/v1/models#x', LIST],
    ['/API/V1/Models', LIST],
    ['/api/v1/models//', noModel('/')],
    ['/api/v1//models', nothingAt('/api/v1//models')],
    ['//api/v1/models', nothingAt(`//api/v1/models`, OUTSIDE)],
    ['/api//v1/models', nothingAt(`/api//v1/models`, OUTSIDE)],
    ['/api/v1/mod%65ls', nothingAt('/api/v1/mod%65ls')],
    ['/api/v1%2Fmodels', nothingAt(`/api/v1%2Fmodels`, OUTSIDE)],
    ['/api/v1/models%2F', nothingAt('/api/v1/models%2F')],
    ['/api/v1/models%3Ftype=text', nothingAt('/api/v1/models%3Ftype=text')],
    ['/api/v1/models;a=b', nothingAt('/api/v1/models;a=b')],
    ['/api/v1/./models', nothingAt('/api/v1/./models')],
    ['/api/v1/\\models', nothingAt('/api/v1/\\models')],
    ['/api/v1/models/test-model', '200 test-model'],
    ['/api/v1/Models/TEST-model', '200 test-model'],
    ['/api/v1/models/test%2Dmodel', '200 test-model'],
    ['/api/v1/models/test-model/', noModel('test-model/')],
    ['/api/v1/models/open/Model', '200 open/Model'],
    ['/api/v1/models/open%2FModel', '200 open/Model'],
    ['/api/v1/models/open%2fModel', '200 open/Model'],
    ['/api/v1/models/open//Model', noModel('open//Model')],
    ['/api/v1/models/open/Model/', noModel('open/Model/')],
    ['/api/v1/models/50%25', '200 50%'],
    ['/api/v1/models/50%2525', noModel('50%25')],
    ['/api/v1/models/a%3Fb', noModel('a?b')],
    ['/api/v1/models/a?b', noModel('a')],
    ['/api/v1/models/..', noModel('..')],
    ['/api/v1/models/../models', noModel('../models')],
    ['/api/v1/models/*', noModel('*')],
    ['/api/v1/models/:id', noModel(':id')],
    ['/api/v1/models/%C3%A9', noModel('é')],
    [`/api/v1/models/${LONG}`, noModel(LONG.slice(0, 200))],
    ['/api/v1/models/traits', LIST],
    ['/api/v1/models/TRAITS/', LIST],
    ['/api/v1/models/tr%61its', noModel('traits')],
    ['/api/v1/models//traits', noModel('/traits')],
    ['/api/v1/api_keys/', '200 data,object'],
    ['/api/v1/api_keys//', nothingAt('/api/v1/api_keys//')],
    ['/api/v1/api_keys/rate_limits/', '200 data'],
    ['/api/v1/api_keys/RATE_limits', '200 data'],
    ['/api/v1/api_keys/a/', NO_KEY],
    ['/api/v1/api_keys/a//', nothingAt('/api/v1/api_keys/a//')],
    ['/api/v1/api_keys/a/b', nothingAt('/api/v1/api_keys/a/b')],
    ['/api/v1/api_keys/a%2Fb', NO_KEY],
    [`/api/v1/api_keys/${LONG}`, NO_KEY],
    ['/api/v1/crypto/rpc', nothingAt('/api/v1/crypto/rpc')],
    ['/api/v1/crypto/rpc/', nothingAt('/api/v1/crypto/rpc/')],
    ['/api/v1/crypto/rpc/networks/', '200 networks'],
    ['/api/v1/crypto/rpc/other', only('POST')],
    ['/api/v1/chat/completions/', only('POST')],
    ['/api/v1', nothingAt('/api/v1/')],
    ['/api/v1?x', nothingAt('/api/v1/')],
    ['/api/v1//', nothingAt('/api/v1//')],
    ['/API/V1/Nope/?a=b', nothingAt('/api/v1/Nope/')],
    ['/api/v1x', nothingAt(`/api/v1x`, OUTSIDE)],
    ['/api/v1/models/%zz', UNREADABLE],
    ['/api/v1/models/%ff', UNREADABLE],
    ['/API/V1/models/%ff', UNREADABLE],
    ['/api/v1/nope/50%', UNREADABLE],
    ['http://elsewhere/api/v1/models/test-model?x=1', '200 test-model'],
    ['http://elsewhere/api/v1/nope', nothingAt('/api/v1/nope')],
  ])('is served or rejected in any spelling: %s', async (target, outcome) => {
    expect(outcomeOf(await send('GET', target))).toBe(outcome)
  })
})

describe('a method that a path does not serve', () => {
  test.each([
    ['OPTIONS', '/api/v1/models/', 'GET', 'GET'],
    ['TRACE', '/api/v1/MODELS/traits', 'GET', 'GET'],
    ['PROPFIND', '/api/v1/models/open/x', 'GET', 'GET'],
    ['PUT', '/api/v1/crypto/rpc/networks', 'GET', 'GET'],
    ['DELETE', '/api/v1/crypto/rpc/x', 'POST', 'POST'],
    ['PUT', '/api/v1/api_keys', 'POST, GET, PATCH, DELETE', 'POST or GET or PATCH or DELETE'],
    ['PATCH', '/api/v1/api_keys/generate_web3_key', 'GET, POST', 'GET or POST'],
  ])('gets 405 with the served methods: %s %s', async (method, target, allowed, named) => {
    const answer = await send(method, target)
    expect([answer.headers.allow, outcomeOf(answer)]).toEqual([
      allowed,
      `405 METHOD_NOT_ALLOWED: ${method} is not supported here; use ${named}`,
    ])
  })
})

test('POST reaches the network of the path where GET has a fixed path', async () => {
  expect(outcomeOf(await send('POST', '/api/v1/crypto/rpc/networks'))).not.toContain('METHOD_NOT_ALLOWED')
})

describe('HEAD', () => {
  test.each(['/api/v1/models', '/api/v1/models/open%2FModel', '/api/v1/crypto/rpc/networks', '/api/v1/nope'])(
    'has the status and the length of GET without its body: %s',
    async (target) => {
      const [whole, head] = [await send('GET', target), await send('HEAD', target)]
      const length = whole.status === 404 ? whole.body.length + 1 : whole.body.length
      expect(head).toMatchObject({ status: whole.status, body: '', headers: { 'content-length': String(length) } })
    },
  )

  test('is not served by a path without GET', async () => {
    expect(await send('HEAD', '/api/v1/chat/completions')).toMatchObject({ status: 405, headers: { allow: 'POST' } })
  })
})

describe('a page of another origin', () => {
  const origin = { origin: 'https://page.example' }

  test.each(['/api/v1/models', '/api/v1/nope'])('may ask what it may send to %s', async (target) => {
    const { status, headers, body } = await send('OPTIONS', target, {
      ...origin,
      'access-control-request-method': 'GET',
    })
    expect([status, headers['access-control-allow-methods'], body]).toEqual([204, 'POST, GET, PATCH, DELETE', ''])
  })

  test.each([
    ['GET', '/api/v1/nope', 404],
    ['GET', '/api/v1/models/%zz', 400],
    ['OPTIONS', '/api/v1/models', 405],
  ])('reads the response to %s %s', async (method, target, status) => {
    const answer = await send(method, target, origin)
    expect(answer).toMatchObject({ status, headers: { 'access-control-allow-origin': '*' } })
    expect(answer.headers['access-control-expose-headers']).toContain('X-Request-ID')
  })
})
