import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { toClientError } from '../../schema/errors.ts'
import type { RequestContext } from '../../server/domain/caller.ts'
import { DOMAIN_ERROR_CODES, DomainError } from '../../server/domain/errors.ts'
import { codes, type GraphqlHarness, readAnswer, startGraphqlHarness } from '../support/graphql-harness.ts'
import { createRecordingLog } from '../support/recording-log.ts'

let failure: () => Promise<never>
let harness: GraphqlHarness
let key: string

beforeAll(async () => {
  harness = await startGraphqlHarness()
  key = (await harness.createAccount()).adminKey
  harness.services.money.ledger.balances = () => failure()
})
afterAll(() => harness.close())

const readBalances = () => harness.run('{ viewer { accountId balances { free } } }', { key })

describe('an unknown failure', () => {
  it('becomes one fixed sentence with the request id; the log keeps what happened', async () => {
    const secret = new Error('relation "balances" does not exist at 10.0.0.7:5432')
    failure = async () => {
      throw secret
    }
    const answer = await readBalances()
    const requestId = answer.headers.get('cf-ray')
    expect(answer.status).toBe(200)
    expect(answer.errors).toEqual([
      {
        message: 'An internal error occurred. Try again; if the error persists, report the request id.',
        locations: [expect.anything()],
        path: ['viewer', 'balances'],
        extensions: { code: 'INTERNAL_SERVER_ERROR', requestId },
      },
    ])
    expect(harness.log.lines).toContainEqual({
      level: 'error',
      message: 'graphql operation failed',
      fields: { requestId, error: secret },
    })
  })

  it('in the authentication is 500 without details', async () => {
    const own = await startGraphqlHarness()
    own.services.access.auth.authenticateKey = () => Promise.reject(new Error('connect ECONNREFUSED 10.0.0.7:5432'))
    const answer = await own.run('{ viewer { id } }', { key: 'x' })
    expect([answer.status, codes(answer)]).toEqual([500, ['INTERNAL_SERVER_ERROR']])
    expect(JSON.stringify(answer.errors)).not.toMatch(/ECONNREFUSED|10\.0\.0\.7|\.ts:/)
    await own.close()
  })
})

describe('a domain error', () => {
  it('keeps its message, field and facts under a code', async () => {
    failure = async () => {
      throw new DomainError('rate_limited', 'Slow down', { retryAfterSeconds: 7, facts: { limit: 5 } })
    }
    expect((await readBalances()).errors).toMatchObject([
      { message: 'Slow down', extensions: { code: 'RATE_LIMITED', retryAfterSeconds: 7, facts: { limit: 5 } } },
    ])
  })

  it.each(DOMAIN_ERROR_CODES)('%s has a code in capitals', (code) => {
    const error = toClientError(new DomainError(code, 'said to callers'), { log: createRecordingLog() })
    expect(error.extensions['code']).toMatch(/^[A-Z_]+$/)
    expect(error.message === 'said to callers').toBe(code !== 'internal')
  })
})

describe('an operation that takes longer than 10 seconds', () => {
  it('is rejected, and its pending work is cancelled', async () => {
    const own = await startGraphqlHarness()
    const { adminKey } = await own.createAccount()
    const { promise: started, resolve: start } = Promise.withResolvers<RequestContext>()
    own.services.access.apiKeys.create = (context) => {
      start(context)
      return new Promise(() => {})
    }
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const mutation = 'mutation { createApiKey(input: { type: ADMIN, description: "x" }) { __typename } }'
    const answer = own.run(mutation, { key: adminKey })
    const { signal } = await started
    await vi.advanceTimersByTimeAsync(9_999)
    expect(signal.aborted).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    vi.useRealTimers()
    expect(codes(await answer)).toEqual(['EXECUTION_TIMEOUT'])
    expect(signal.aborted).toBe(true)
    await own.close()
  })
})

describe('a browser page of another origin', () => {
  const preflight = (own: GraphqlHarness, origin: string) =>
    fetch(own.url, { method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'POST' } })

  it('may call only when its origin is allowed, and never with credentials', async () => {
    const own = await startGraphqlHarness({ allowedOrigins: ['https://console.example'] })
    const allowed = await preflight(own, 'https://console.example')
    expect(allowed.headers.get('access-control-allow-origin')).toBe('https://console.example')
    expect(allowed.headers.get('access-control-allow-credentials')).toBeNull()
    expect(allowed.headers.get('vary')).toContain('Origin')
    const refused = await preflight(own, 'https://evil.example')
    expect(refused.headers.get('access-control-allow-origin')).toBeNull()
    const plain = await own.post('{"query":"{ __typename }"}', { origin: 'https://evil.example' })
    expect(plain.headers.get('access-control-allow-origin')).toBeNull()
    await own.close()
  })
})

describe('every response', () => {
  it('has a request id of its own', async () => {
    const [a, b] = await Promise.all([harness.post('{"query":"{ __typename }"}'), harness.post('nothing')])
    expect(a.headers.get('cf-ray')).toMatch(/^[0-9a-f]{32}$/)
    expect(b.headers.get('cf-ray')).toMatch(/^[0-9a-f]{32}$/)
    expect(a.headers.get('cf-ray')).not.toBe(b.headers.get('cf-ray'))
    const refused = await readAnswer(b)
    expect(codes(refused)).toEqual(['BAD_REQUEST'])
    expect(refused.errors[0]?.extensions).toEqual({ code: 'BAD_REQUEST' })
  })
})
