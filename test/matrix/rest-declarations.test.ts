import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { toRestError } from '../../rest-facade/errors.ts'
import type { Route } from '../../rest-facade/route.ts'
import { errorsOf } from '../../rest-facade/route-errors.ts'
import { ROUTES } from '../../rest-facade/router.ts'
import { PaymentPending } from '../../rest-facade/x402/payment.ts'
import { DOMAIN_ERROR_CODES, DomainError, type DomainErrorCode } from '../../server/domain/errors.ts'
import { CREDENTIALS, type CredentialName, headersOf } from './credentials.ts'
import { REST_LINES, type RestRequest } from './rest-lines.ts'
import { CHAT, type Scene, startScene } from './scene.ts'

let scene: Scene
beforeAll(async () => {
  scene = await startScene()
})
afterAll(() => scene[Symbol.asyncDispose]())

interface Sent extends RestRequest {
  credential?: CredentialName
  headers?: Record<string, string>
}

async function send(route: Route, { path, body, credential, headers }: Sent) {
  const caller = credential ?? (route.access === 'wallet' ? 'wallet' : 'admin')
  const response = await fetch(`${scene.server.baseUrl}${path}`, {
    method: route.method.toUpperCase(),
    headers: { 'content-type': 'application/json', ...(await headersOf(caller, scene)), ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const contentType = response.headers.get('content-type')?.split(';')[0] ?? ''
  return { status: response.status, contentType, text: await response.text() }
}
type Answer = Awaited<ReturnType<typeof send>>

/** Finer codes that clients know for some of the errors. */
const FINER: Partial<Record<DomainErrorCode, RegExp>> = {
  unauthenticated: /^AUTHENTICATION_FAILED_INACTIVE_KEY$/,
  sign_in_refused: /^X402_SIGN_IN_/,
  unavailable: /^MODEL_OFFLINE$/,
}

/** What in an answer its route does not declare; undefined where all is in order. */
function undeclared(route: Route, { status, contentType, text }: Answer): unknown {
  const { json, content = [], stream = [] } = route.output
  if (status === 202) return PaymentPending.safeParse(JSON.parse(text)).error
  if (status === 200 && [...content, ...stream].includes(contentType)) return undefined
  if (status === 200) {
    const parsed = json?.safeParse(JSON.parse(text))
    if (parsed?.success !== true) return parsed?.error ?? 'no JSON is declared'
    // A member that the schema does not know is dropped by parsing.
    expect(parsed.data).toEqual(JSON.parse(text))
    return undefined
  }
  const { error, code = error } = JSON.parse(text) as { error?: unknown; code?: unknown }
  if (status === 402 && JSON.parse(text).x402Version === 2) return undefined
  const named = typeof code === 'string' ? code : (code as { code: string }).code
  const isDeclared = [...errorsOf(route)].some((domainCode) => {
    const { body } = toRestError(new DomainError(domainCode, ''), true)
    return (body['error'] as { code: string }).code === named || FINER[domainCode]?.test(named) === true
  })
  return isDeclared ? undefined : `${status} ${named}`
}

const ODD_QUERY = '?type=nope&lookback=x&pageSize=x&limit=x&id=x&startTimestamp=x'
const ODD_BODIES: Omit<Sent, 'path'>[] = [
  { body: '{' },
  { body: '' },
  { body: {} },
  { body: [] },
  { body: { ...CHAT, model: 'nothing' } },
  { body: { model: 'test-model', input: 'a' } },
  { body: 'x'.repeat(20_000) },
  { body: {}, headers: { 'content-type': 'text/plain' } },
  { body: {}, headers: { 'content-encoding': 'gzip' } },
  { body: {}, headers: { 'idempotency-key': 'again' } },
  { body: [1], headers: { 'idempotency-key': 'again' } },
  { body: {}, headers: { 'payment-signature': 'x' } },
]

const routes = ROUTES.map((route) => ({ route, name: `${route.method.toUpperCase()} ${route.path}` }))

describe.each(routes)('$name', ({ route, name }) => {
  const line = REST_LINES[name] ?? { request: () => ({ path: '' }) }

  test('responds to everybody as it declares', async () => {
    const found: unknown[] = []
    for (const credential of CREDENTIALS) {
      const request = await line.request(scene)
      const fault = undeclared(route, await send(route, { ...request, credential }))
      if (fault !== undefined) found.push([credential, fault])
    }
    expect(found).toEqual([])
  })

  test('rejects invalid values by the codes that it declares', async () => {
    const [path = ''] = (await line.request(scene)).path.split('?')
    const up = path.slice(0, path.lastIndexOf('/') + 1)
    const inPath = route.parameters?.path === undefined ? [] : [{ path: `${up}nothing` }, { path: `${up}%ff` }]
    const bodies = route.method === 'get' ? [] : ODD_BODIES.map((odd) => ({ path, ...odd }))
    const found: unknown[] = []
    for (const request of [...inPath, { path: path + ODD_QUERY }, ...bodies]) {
      const fault = undeclared(route, await send(route, request))
      if (fault !== undefined) found.push([request, fault])
    }
    expect(found).toEqual([])
  })

  test('declares each parameter of its path', () => {
    const named = [...route.path.matchAll(/[:*](\w+)/g)].map(([, parameter]) => parameter)
    expect(Object.keys(route.parameters?.path?.shape ?? {})).toEqual(named)
  })
})

test.each([
  ['POST /chat/completions', { path: '/chat/completions', body: { ...CHAT, stream: true } }, 'text/event-stream'],
  ['GET /billing/usage-history', { path: '/billing/usage-history', headers: { accept: 'text/csv' } }, 'text/csv'],
])('%s: declares what it sends beside JSON', async (name, request, contentType) => {
  const { route } = routes.find((known) => known.name === name) ?? {}
  if (route === undefined) throw new Error(`there is no ${name}`)
  expect(await send(route, request)).toMatchObject({ status: 200, contentType })
  expect([...(route.output.stream ?? []), ...(route.output.content ?? [])]).toContain(contentType)
})

test('every code is declared by a route, or is of a request that no route serves', () => {
  const declared = new Set(ROUTES.flatMap((route) => [...errorsOf(route)]))
  expect(DOMAIN_ERROR_CODES.filter((code) => !declared.has(code))).toEqual(['method_not_allowed'])
})
