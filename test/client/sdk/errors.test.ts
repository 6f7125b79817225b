import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  ApiError,
  AuthenticationError,
  ConflictError,
  ConnectionError,
  InsufficientBalanceError,
  NotFoundError,
  PermissionError,
  RateLimitError,
  ServerError,
  SluiceError,
  ValidationError,
} from '../../../client/sdk/index.ts'
import { startFlakyProxy } from '../../support/flaky-proxy.ts'
import { errorOf, type SdkHarness, say, startSdkHarness } from '../../support/sdk-harness.ts'

let harness: SdkHarness

beforeAll(async () => {
  harness = await startSdkHarness()
})
afterAll(() => harness[Symbol.asyncDispose]())

const REQUEST_ID = expect.stringMatching(/^[0-9a-f]{32}$/)

describe('a rejection of the service', () => {
  test('lists each invalid field of an input, flat and as a tree', async () => {
    const request = { ...say('x'), temperature: 3, top_p: 2 }
    const error = await errorOf(harness.sluice.chat.completions.create(request))
    expect(error).toBeInstanceOf(ValidationError)
    expect(error).toMatchObject({
      name: 'ValidationError',
      status: 400,
      code: 'INVALID_REQUEST',
      requestId: REQUEST_ID,
      fields: [
        { path: 'temperature', messages: [expect.any(String)] },
        { path: 'top_p', messages: [expect.any(String)] },
      ],
      details: { temperature: { _errors: [expect.any(String)] } },
    })
  })

  test("reads the same in OpenAI's form", async () => {
    const sluice = harness.connect({ headers: { 'x-service-error-format': 'openai' } })
    const error = await errorOf(sluice.chat.completions.create({ ...say('x'), model: 'none' }))
    expect(error).toBeInstanceOf(NotFoundError)
    expect(error).toMatchObject({ status: 404, code: 'MODEL_NOT_FOUND', requestId: REQUEST_ID })
  })

  test('is an AuthenticationError over REST and GraphQL if the credential is wrong', async () => {
    const stranger = harness.connect({ apiKey: 'nonsense' })
    const calls = [stranger.apiKeys.list(), stranger.account.retrieve(), stranger.chat.completions.create(say('x'))]
    for (const error of await Promise.all(calls.map(errorOf))) {
      expect(error).toBeInstanceOf(AuthenticationError)
      expect(error).toMatchObject({ status: 401, requestId: REQUEST_ID })
    }
    const nobody = harness.connect({ apiKey: undefined })
    expect(await errorOf(nobody.account.retrieve())).toBeInstanceOf(AuthenticationError)
  })

  test('has a code of its own if an INFERENCE key is used where an ADMIN key is required', async () => {
    const { apiKey } = await harness.sluice.apiKeys.create({ apiKeyType: 'INFERENCE', description: 'limited' })
    const limited = harness.connect({ apiKey })
    expect(await errorOf(limited.apiKeys.list())).toMatchObject({
      name: 'PermissionError',
      status: 401,
      code: 'ADMIN_KEY_REQUIRED',
    })
    expect(await errorOf(limited.ledger.list().page())).toMatchObject({ name: 'PermissionError', code: 'FORBIDDEN' })
  })

  test('is a PermissionError if a private key calls an anonymised model', async () => {
    const settings = { apiKeyType: 'INFERENCE', description: 'private', modelPrivacy: 'PRIVATE_ONLY' } as const
    const { apiKey } = await harness.sluice.apiKeys.create(settings)
    const request = { ...say('x'), model: 'anonymous-model' }
    const error = await errorOf(harness.connect({ apiKey }).chat.completions.create(request))
    expect(error).toBeInstanceOf(PermissionError)
    expect(error).toMatchObject({ status: 403, code: 'MODEL_PRIVACY' })
  })

  test("is an InsufficientBalanceError if the account's balance or the key's limit is too low", async () => {
    const poor = await harness.server.createAccount({ grantNanoUsd: 1n })
    const error = await errorOf(harness.connect({ apiKey: poor.adminKey }).chat.completions.create(say('x')))
    expect(error).toBeInstanceOf(InsufficientBalanceError)
    expect(error).toMatchObject({ status: 402, code: 'INSUFFICIENT_BALANCE' })
    const settings = { apiKeyType: 'INFERENCE', description: 'spent', consumptionLimit: { usd: 0 } } as const
    const { apiKey } = await harness.sluice.apiKeys.create(settings)
    expect(await errorOf(harness.connect({ apiKey }).chat.completions.create(say('x')))).toMatchObject({
      name: 'InsufficientBalanceError',
      code: 'API_KEY_USD_SPEND_LIMIT_EXCEEDED',
    })
  })

  test('is a ValidationError if an idempotency key was used for another request', async () => {
    const options = { idempotencyKey: 'taken' }
    await harness.sluice.chat.completions.create(say('one'), options)
    const error = await errorOf(harness.sluice.chat.completions.create(say('two'), options))
    expect(error).toMatchObject({ name: 'ValidationError', code: 'IDEMPOTENCY_KEY_REUSED' })
  })

  test('says when to retry after a rate limit, with the windows', async () => {
    const { adminKey } = await harness.server.createAccount({ tier: 'standard' })
    const { apiKeys } = harness.connect({ apiKey: adminKey, maxRetries: 0 })
    const made = await Promise.allSettled(
      Array.from({ length: 21 }, () => apiKeys.create({ apiKeyType: 'INFERENCE', description: 'many' })),
    )
    const [refused] = made.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[]
    expect(refused?.reason).toBeInstanceOf(RateLimitError)
    expect(refused?.reason).toMatchObject({
      status: 429,
      code: 'RATE_LIMIT_EXCEEDED',
      retryAfterSeconds: expect.any(Number),
      response: { rateLimits: { requests: { limit: expect.any(Number) } } },
    })
    const rotated = await errorOf(apiKeys.rotate((await apiKeys.list())[0]?.id ?? ''))
    expect(rotated).toBeInstanceOf(RateLimitError)
    expect(rotated).toMatchObject({ code: 'RATE_LIMITED', retryAfterSeconds: expect.any(Number) })
  })

  test('has its code and all errors in its body in GraphQL', async () => {
    const error = await errorOf(harness.sluice.graphql('{ nothing }'))
    expect(error).toBeInstanceOf(ValidationError)
    expect(error).toMatchObject({ body: { errors: [{ message: expect.stringContaining('nothing') }] } })
  })
})

describe('a failure', () => {
  test('is a ServerError if the provider failed', async () => {
    const sluice = harness.connect({ maxRetries: 0 })
    const error = await errorOf(sluice.chat.completions.create(say('[[fault:status-500]]')))
    expect(error).toBeInstanceOf(ServerError)
    expect(error).toMatchObject({ status: 502, code: 'INFERENCE_FAILED' })
  })

  test('409 is a ConflictError, and an unknown status or code passes', async () => {
    harness.proxy.fail({ kind: 'status', status: 409, body: { error: 'PAYMENT_IN_PROGRESS', message: 'wait' } })
    const conflict = await errorOf(harness.sluice.models.list())
    expect(conflict).toBeInstanceOf(ConflictError)
    expect(conflict).toMatchObject({ code: 'PAYMENT_IN_PROGRESS', message: 'wait' })
    harness.proxy.fail({ kind: 'status', status: 418, body: { error: 'I am a teapot', code: 'TEAPOT' } })
    const teapot = await errorOf(harness.sluice.models.list())
    expect(teapot).toBeInstanceOf(ApiError)
    expect(teapot).toMatchObject({ name: 'ApiError', status: 418, code: 'TEAPOT', message: 'I am a teapot' })
    harness.proxy.fail({ kind: 'status', status: 410, body: 'gone' })
    expect(await errorOf(harness.sluice.models.list())).toMatchObject({ status: 410, code: 'HTTP_410', body: 'gone' })
  })

  test('a response that is not JSON names what came instead', async () => {
    harness.proxy.fail({ kind: 'html' })
    const error = await errorOf(harness.sluice.models.list({}, { maxRetries: 0 }))
    expect(error).toBeInstanceOf(ConnectionError)
    expect(error).toMatchObject({ message: expect.stringContaining('text/html') })
  })

  test('a service that is not there is a ConnectionError with its cause', async () => {
    const gone = await startFlakyProxy(harness.server.url)
    await gone[Symbol.asyncDispose]()
    const sluice = harness.connect({ baseUrl: gone.url, maxRetries: 0 })
    const error = await errorOf(sluice.models.list())
    expect(error).toBeInstanceOf(ConnectionError)
    expect(error).toBeInstanceOf(SluiceError)
    expect(error).toMatchObject({ message: expect.stringContaining('ECONNREFUSED'), cause: expect.any(Error) })
  })
})
