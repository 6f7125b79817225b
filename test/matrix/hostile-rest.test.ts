import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Route } from '../../rest-facade/route.ts'
import { ROUTES } from '../../rest-facade/router.ts'
import { type CredentialName, headersOf } from './credentials.ts'
import { complaint, fieldsOf, HOSTILE, HOSTILE_TEXTS, withField } from './hostile-values.ts'
import { REST_LINES, type RestRequest } from './rest-lines.ts'
import { type Scene, startScene } from './scene.ts'

let scene: Scene
beforeAll(async () => {
  scene = await startScene()
})
afterAll(async () => {
  expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
  await scene.server.assertLedgerClean()
  await scene[Symbol.asyncDispose]()
})

async function send(route: Route, { path, body }: RestRequest): Promise<{ status: number; text: string }> {
  const credential: CredentialName = route.access === 'wallet' ? 'wallet' : 'admin'
  const response = await fetch(`${scene.server.baseUrl}${path}`, {
    method: route.method.toUpperCase(),
    headers: { 'content-type': 'application/json', ...(await headersOf(credential, scene)) },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  return { status: response.status, text: await response.text() }
}

/** The specification's sentence for an id of no key. */
const NO_KEY = 'API key not found or expired'

/** A refusal has a code, and one of the input names what is at fault. */
function faultOf({ status, text }: { status: number; text: string }, field?: string): string | undefined {
  const fault = complaint(status, text)
  if (fault !== undefined || status < 400 || status === 402) return fault
  const { error, code } = JSON.parse(text) as { error: string | { code: string; message: string }; code?: string }
  const [named, message] = typeof error === 'string' ? [code, text] : [error.code, error.message]
  if (typeof named !== 'string') return `no code: ${text}`
  const isNamed = field === undefined || message.includes(field) || message.includes(NO_KEY)
  return named === 'INVALID_REQUEST' && !isNamed ? `names no ${field}: ${text.slice(0, 300)}` : undefined
}

const routes = ROUTES.map((route) => ({ route, name: `${route.method.toUpperCase()} ${route.path}` }))
const lineOf = (name: string) => REST_LINES[name]?.request(scene) ?? { path: '' }

const withBody = routes.flatMap(({ route, name }) =>
  route.body?.kind === 'json' ? [{ route, name, schema: route.body.schema }] : [],
)

describe.each(withBody)('$name', ({ route, name, schema }) => {
  const fields = fieldsOf(schema).map((field) => ({ field, at: field.join('.') }))

  test.each(fields)('rejects invalid values in $at of its body by code and by name', async ({ field }) => {
    const faults = HOSTILE.map(async ([what, value]) => {
      const { path, body } = await lineOf(name)
      const [plain = ''] = path.split('?')
      const fault = faultOf(await send(route, { path: plain, body: withField(body, field, value) }), field.at(-1))
      return fault === undefined ? [] : [[what, fault]]
    })
    expect((await Promise.all(faults)).flat()).toEqual([])
  })

  test('rejects a body that is not an object, and fields that it does not have, by code', async () => {
    const { path, body } = await lineOf(name)
    const own = { ...(body as object), ...JSON.parse('{"__proto__": {"polluted": true}}') }
    const bodies = [...HOSTILE.map(([, value]) => value), { ...own, constructor: 1 }, own].map((b) => JSON.stringify(b))
    const odd = ['{', '[', '\u0000', '{"a":1}}', '\uFEFF{}', '['.repeat(3_000), '{"a":1e999999}', 'undefined']
    const faults: unknown[] = []
    for (const text of [...bodies, ...odd]) {
      const fault = faultOf(await send(route, { path, body: text }))
      if (fault !== undefined) faults.push([text.slice(0, 100), fault])
    }
    expect(faults).toEqual([])
  })
})

const withQuery = routes.flatMap(({ route, name }) =>
  route.parameters?.query === undefined ? [] : [{ route, name, schema: route.parameters.query }],
)
const ODD_QUERIES = [
  '',
  '=',
  '&&&',
  '%',
  '%zz',
  '%ff=%ff',
  '__proto__=1',
  '__proto__[polluted]=1',
  'constructor=1',
  'a[]=1',
]

describe.each(withQuery)('$name', ({ route, name, schema }) => {
  test('rejects invalid values in its query by code and by name, once or twice', async () => {
    const path = (await lineOf(name)).path.split('?')[0] ?? ''
    const faults: unknown[] = []
    for (const [field = ''] of fieldsOf(schema)) {
      const texts = HOSTILE_TEXTS.map(([, text]) => `${field}=${encodeURIComponent(text.toWellFormed())}`)
      const odd = [`${field}=a&${field}=b`, `${field}[]=a`, `${field}[a]=b`, field, `${field}=%`, `${field}=%ff%00`]
      for (const query of [...texts, ...odd, ...ODD_QUERIES]) {
        const fault = faultOf(await send(route, { path: `${path}?${query}` }), field)
        if (fault !== undefined) faults.push([query.slice(0, 100), fault])
      }
    }
    expect(faults).toEqual([])
  })
})

const withParameter = routes.filter(({ route }) => /[:*]/.test(route.path))
const ODD_SEGMENTS = ['%', '%zz', '%00', '%ff', '%2e%2e%2f', '%c0%ae', '..%5c', ';a=b', '*', '%E2%80%AE', '%F0%9F']

test.each(withParameter)('$name: rejects invalid values in its path by code', async ({ route, name }) => {
  const { path, body } = await lineOf(name)
  const prefix = path.slice(0, path.lastIndexOf('/') + 1)
  const faults: unknown[] = []
  for (const segment of [
    ...HOSTILE_TEXTS.map(([, text]) => encodeURIComponent(text.toWellFormed())),
    ...ODD_SEGMENTS,
  ]) {
    const fault = faultOf(await send(route, { path: prefix + segment, body }))
    if (fault !== undefined) faults.push([segment.slice(0, 100), fault])
  }
  expect(faults).toEqual([])
})

const HEADERS = [
  'idempotency-key',
  'content-type',
  'accept',
  'accept-encoding',
  'x-service-error-format',
  'payment-signature',
  'x-payment',
]

test.each(routes)('$name: rejects odd headers by code', async ({ route, name }) => {
  const faults: unknown[] = []
  for (const header of HEADERS) {
    for (const value of ['', 'x', '\u00FF', 'x'.repeat(4_000), '{}', 'e30=', 'bnVsbA==', '__proto__', '%00']) {
      const { path, body } = await lineOf(name)
      const response = await fetch(`${scene.server.baseUrl}${path}`, {
        method: route.method.toUpperCase(),
        headers: { 'content-type': 'application/json', ...(await headersOf('admin', scene)), [header]: value },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const fault = complaint(response.status, await response.text())
      if (fault !== undefined) faults.push([header, value.slice(0, 20), fault])
    }
  }
  expect(faults).toEqual([])
})

test.each(['', '/trpc', '/graphql', '/metrics', '/health/live', '/api/v1/nothing', '/api/v1x'])(
  'a path that nobody can read, below %j, is rejected without a word about the process',
  async (prefix) => {
    for (const segment of [...ODD_SEGMENTS, 'x'.repeat(8_000), '//', '/..', '?%ff', '%0d%0aX: y']) {
      const response = await fetch(`${scene.server.url}${prefix}/${segment}`)
      expect([segment, complaint(response.status, await response.text())]).toEqual([segment, undefined])
    }
  },
)
