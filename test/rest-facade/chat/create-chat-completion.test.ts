import { request } from 'node:http'
import { afterEach, describe, expect, test } from 'vitest'
import { createChatCompletionRoute } from '../../../rest-facade/chat/create-chat-completion.ts'
import type { ModelDefinition } from '../../../server/domain/catalogue/model-definition.ts'
import { DomainError } from '../../../server/domain/errors.ts'
import type { ProviderResponse } from '../../../server/domain/inference/providers/provider.ts'
import { createChatHarness } from '../../support/chat-harness.ts'
import {
  answerFrames,
  chunkFrame,
  completion,
  jsonAnswer,
  openStreamAnswer,
  scriptRouter,
  streamAnswer,
} from '../../support/provider-script.ts'
import { type RestHarness, startRestHarness } from '../../support/rest-harness.ts'

const USAGE = { prompt_tokens: 10, completion_tokens: 3, total_tokens: 13 }
const open: RestHarness[] = []
afterEach(() => Promise.all(open.splice(0).map((rest) => rest[Symbol.asyncDispose]())))

interface Options {
  answer: (signal: AbortSignal) => ProviderResponse | Promise<ProviderResponse>
  retries?: number
  model?: Partial<ModelDefinition>
}

async function start({ answer, retries, model = {} }: Options) {
  const router = scriptRouter(({ signal }) => answer(signal), retries)
  const harness = createChatHarness({ router, model })
  const rest = await startRestHarness([createChatCompletionRoute], {
    inference: { chat: harness.chat },
    caller: harness.context.caller,
  })
  open.push(rest)
  const post = (body: unknown, headers: Record<string, string> = {}) =>
    fetch(`${rest.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer key', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  return { ...harness, harness, rest, router, post }
}

const hello = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] }

describe('200', () => {
  test('JSON has the model, limit and balance headers', async () => {
    const { post } = await start({ answer: () => jsonAnswer(completion({ content: 'x' }, USAGE)), retries: 2 })
    const response = await post(hello)
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({ model: 'm', usage: USAGE, cost: { usd: 0.000016, diem: 0 } })
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'x-service-model-id': 'm',
      'x-service-model-name': 'Model M',
      'x-service-model-router': 'main',
      'x-retry-count': '2',
      'x-service-balance-usd': '1',
      'x-ratelimit-limit-requests': '100',
    })
    expect(response.headers.has('x-service-model-deprecation-warning')).toBe(false)
  })

  test('a stream has the headers that keep proxies from collecting it', async () => {
    const { post } = await start({ answer: () => streamAnswer(answerFrames(['a', 'b'], USAGE)) })
    const response = await post({ ...hello, stream: true })
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
      'x-service-model-id': 'm',
    })
    expect(response.headers.has('x-retry-count')).toBe(false)
    expect(await response.text()).toMatch(/"cost":\{"usd":0.000016,"diem":0\}\}\n\ndata: \[DONE\]\n\n$/)
  })

  test('a deprecated model warns, and a name in any script fits a header', async () => {
    const deprecation = { date: '2027-01-01T00:00:00Z', autoRemap: false, message: 'Goes away – soon' }
    const { post } = await start({
      answer: () => jsonAnswer(completion({ content: 'x' }, USAGE)),
      model: { name: '模型', deprecation },
    })
    const { headers } = await post(hello)
    expect(decodeURIComponent(headers.get('x-service-model-name') ?? '')).toBe('模型')
    expect(decodeURIComponent(headers.get('x-service-model-deprecation-warning') ?? '')).toBe('Goes away – soon')
    expect(headers.get('x-service-model-deprecation-date')).toBe('2027-01-01T00:00:00Z')
  })

  test('a slow reader gets every byte, and the provider is read no faster than it', async () => {
    const frame = Buffer.from(chunkFrame({ content: 'x'.repeat(60_000) }))
    let sent = 0
    async function* body() {
      for (; sent < 400; sent++) yield frame
      yield* answerFrames(['end'], USAGE).map((text) => Buffer.from(text))
    }
    const { post } = await start({
      answer: () => ({ ...streamAnswer([]), body: body() }),
      model: { pricing: {} },
    })
    const response = await post({ ...hello, stream: true })
    const reader = response.body!.getReader()
    await reader.read()
    // Sockets and readers hold some of the 24 MB, but not all.
    for (let turn = 0; turn < 200; turn++) await new Promise(setImmediate)
    expect(sent).toBeLessThan(400)
    let received = 0
    for (let read = await reader.read(); !read.done; read = await reader.read()) received += read.value.length
    expect(received).toBeGreaterThan(390 * 60_000)
  })
})

describe('errors', () => {
  test.each([
    ['{"model":', 400, 'INVALID_JSON'],
    ['[]', 400, 'INVALID_REQUEST'],
    [{ messages: hello.messages }, 400, 'INVALID_REQUEST'],
    [{ ...hello, model: 'none' }, 404, 'MODEL_NOT_FOUND'],
    [{ ...hello, temperature: -1 }, 400, 'INVALID_REQUEST'],
    [{ ...hello, n: 129 }, 400, 'INVALID_REQUEST'],
    [{ ...hello, max_tokens: 1e9 }, 400, 'INVALID_REQUEST'],
  ])('%j gives %i and nothing is held', async (body, status, code) => {
    const { post, metering, router } = await start({ answer: () => jsonAnswer(completion({ content: 'x' })) })
    const response = await post(body)
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([status, code])
    expect([metering.records, router.requests]).toEqual([[], []])
  })

  test('a prompt beyond the context has the form that clients match on', async () => {
    const { post } = await start({ answer: () => jsonAnswer({}), model: { contextTokens: 100 } })
    const response = await post({ ...hello, messages: [{ role: 'user', content: 'word '.repeat(200) }] })
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { code: 'context_length_exceeded', param: 'messages', type: 'invalid_request_error' } },
    ])
  })

  test('a provider that breaks before the first byte of a stream gives a status, not a stream', async () => {
    const { post, metering } = await start({ answer: () => openStreamAnswer([], new Error('reset')) })
    const response = await post({ ...hello, stream: true })
    expect([response.status, response.headers.get('content-type')]).toEqual([502, 'application/json; charset=utf-8'])
    expect(metering.records[0]?.end).toEqual({ kind: 'released' })
  })

  test('an overloaded provider gives 429 with Retry-After', async () => {
    const error = new DomainError('upstream_overloaded', 'busy', { retryAfterSeconds: 7 })
    const { post } = await start({ answer: () => Promise.reject(error) })
    const response = await post(hello)
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '7'])
  })
})

test('a client that hangs up stops the provider and pays for what it got', async () => {
  let stopped = false
  const { rest, harness } = await start({
    answer: (signal) => {
      signal.addEventListener('abort', () => (stopped = true))
      return openStreamAnswer([chunkFrame({ content: 'one two three' })], signal)
    },
  })
  const client = request(`${rest.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer key' },
  })
  client.on('error', () => undefined)
  client.on('response', (response) => response.once('data', () => client.destroy()))
  client.end(JSON.stringify({ ...hello, stream: true }))
  while (harness.end?.kind !== 'settled') await new Promise(setImmediate)
  expect(harness.usage).toMatchObject({ outcome: 'client_disconnected', lines: [{ units: 5 }, { units: 3 }] })
  expect(stopped).toBe(true)
})

test('503 of an offline model has its code and says when to try again', async () => {
  const { post, harness } = await start({
    answer: () => jsonAnswer(completion({ content: 'x' })),
    model: { offline: true },
  })
  const response = await post(hello)
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '60'])
  expect(await response.json()).toMatchObject({ code: 'MODEL_OFFLINE', error: expect.stringContaining('offline') })
  expect(harness.metering.records).toEqual([])
})

test('a request without any message that says something never reaches the provider', async () => {
  const { post, router, harness } = await start({ answer: () => jsonAnswer(completion({ content: 'x' })) })
  const response = await post({ model: 'm', messages: [{ role: 'assistant', content: '' }] })
  expect(response.status).toBe(400)
  expect([router.requests, harness.metering.records]).toEqual([[], []])
})
