import { describe, expect, test } from 'vitest'
import { ModelDefinition } from '../../../../../server/domain/catalogue/model-definition.ts'
import { systemClock } from '../../../../../server/domain/clock.ts'
import { DomainError } from '../../../../../server/domain/errors.ts'
import type { CircuitBreaker } from '../../../../../server/domain/inference/providers/circuit-breaker.ts'
import type { InferenceProvider, ProviderRequest } from '../../../../../server/domain/inference/providers/provider.ts'
import { ProviderRouter, type RoutedRequest } from '../../../../../server/domain/inference/providers/provider-router.ts'

type Reply = { status?: number; type?: string; body?: string; retryAfterSeconds?: number } | Error | 'hang'

async function* bytes(text: string) {
  yield Buffer.from(text)
}

/** A provider that gives its replies in order, the last one for ever. */
class FakeProvider implements InferenceProvider {
  readonly kind = 'openai'
  readonly id: string
  readonly received: ProviderRequest[] = []
  readonly #replies: Reply[]

  constructor(id: string, replies: Reply[]) {
    this.id = id
    this.#replies = replies
  }

  async send(request: ProviderRequest) {
    const reply = this.#replies[Math.min(this.received.length, this.#replies.length - 1)] ?? {}
    this.received.push(request)
    if (reply instanceof Error) throw reply
    if (reply === 'hang') return hangUntilAborted(request.signal)
    const { status = 200, type = 'application/json', body = '{}', retryAfterSeconds } = reply
    return { status, contentType: type, retryAfterSeconds, body: bytes(body) }
  }

  async close() {}
}

function hangUntilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason))
  })
}

/** A breaker that the test opens by hand and that remembers the outcomes it was told. */
class FakeBreaker implements CircuitBreaker {
  open = false
  get state() {
    return this.open ? ('open' as const) : ('closed' as const)
  }
  readonly outcomes: boolean[] = []

  async run<T extends { healthy: boolean }>(call: () => Promise<T>): Promise<T | undefined> {
    if (this.open) return undefined
    const outcome = await call()
    this.outcomes.push(outcome.healthy)
    return outcome
  }
}

function setUp(...replies: Reply[][]) {
  const providers = replies.map((list, index) => new FakeProvider(`p${index}`, list))
  const breakers: FakeBreaker[] = []
  const warnings: object[] = []
  const router = new ProviderRouter({
    providers: new Map(providers.map((provider) => [provider.id, provider])),
    createBreaker: () => {
      const breaker = new FakeBreaker()
      breakers.push(breaker)
      return breaker
    },
    clock: systemClock,
    log: { info: () => undefined, warn: (_message, fields) => warnings.push(fields ?? {}), error: () => undefined },
  })
  const model = ModelDefinition.parse({
    id: 'llama',
    type: 'text',
    providers: providers.map(({ id }) => ({ id, model: `${id}/llama` })),
  })
  const send = (body: Record<string, unknown> = {}, signal = new AbortController().signal) =>
    router.send(model, chatRequest(body, signal))
  return { send, providers, breakers, warnings, router, model }
}

function chatRequest(value: Record<string, unknown>, signal: AbortSignal): RoutedRequest {
  return {
    operation: 'chat',
    body: { kind: 'json', value },
    accepts: value['stream'] === true ? 'events' : 'json',
    signal,
  }
}

const refused = () => new DomainError('upstream_failed', 'The connection failed.')
const timeout = () => new DomainError('upstream_timeout', 'No answer in time.')
const status = (code: number, message = 'no'): Reply => ({ status: code, body: JSON.stringify({ error: { message } }) })

describe('order', () => {
  test('prefers the first provider, under its own name of the model', async () => {
    const { send, providers } = setUp([{ body: '{"ok":1}' }], [{}])
    const routed = await send({ messages: [] })
    expect(routed).toMatchObject({ upstreamId: 'p0', retries: 0, response: { status: 200 } })
    expect(providers[0]?.received[0]).toMatchObject({
      operation: 'chat',
      model: 'p0/llama',
      body: { kind: 'json', value: { messages: [] } },
    })
    expect(providers[1]?.received).toHaveLength(0)
  })

  test.each<[string, Reply]>([
    ['a refused connection', refused()],
    ['an unknown error', new TypeError('boom')],
    ['a timeout', timeout()],
    ...[302, 401, 402, 403, 405, 408, 429, 500, 502, 503, 504].map((code): [string, Reply] => [
      `${code}`,
      status(code),
    ]),
    ['an HTML page', { type: 'text/html; charset=utf-8', body: '<html>' }],
    ['a stream where JSON was asked', { type: 'text/event-stream' }],
  ])('continues with the next provider after %s', async (_name, reply) => {
    const { send, providers, warnings } = setUp([reply], [reply], [{}])
    expect(await send()).toMatchObject({ upstreamId: 'p2', retries: 2 })
    expect(providers[2]?.received[0]?.model).toBe('p2/llama')
    expect(warnings).toHaveLength(2)
  })

  test.each([400, 404, 413, 422])('%i blames the request: no other provider is tried', async (code) => {
    const { send, providers, breakers } = setUp([status(code, 'temperature is too high')], [{}])
    await expect(send()).rejects.toMatchObject({
      code: 'upstream_rejected',
      upstreamStatus: code,
      message: 'temperature is too high',
    })
    expect(providers[1]?.received).toHaveLength(0)
    expect(breakers[0]?.outcomes).toEqual([true])
  })

  test('a stream may be an event stream or plain JSON, not HTML', async () => {
    const { send } = setUp([{ type: 'text/html' }], [{ type: 'text/event-stream' }], [{}])
    expect(await send({ stream: true })).toMatchObject({ upstreamId: 'p1' })
    expect(await setUp([{}]).send({ stream: true })).toMatchObject({ response: { contentType: 'application/json' } })
  })

  test('a model whose providers are all unknown is unavailable', async () => {
    const { router, model } = setUp([{}])
    const orphan = { ...model, providers: [{ id: 'gone', model: 'x' }] }
    const request = chatRequest({}, new AbortController().signal)
    await expect(router.send(orphan, request)).rejects.toMatchObject({ code: 'unavailable' })
  })
})

describe('the failure of the last provider', () => {
  test.each<[string, Reply, object]>([
    ['401', status(401), { code: 'upstream_failed' }],
    ['403', status(403), { code: 'upstream_failed' }],
    ['500', status(500), { code: 'upstream_failed' }],
    ['504', status(504), { code: 'upstream_timeout' }],
    ['HTML', { type: 'text/html' }, { code: 'upstream_failed' }],
    ['a refused connection', refused(), { code: 'upstream_failed' }],
    ['a timeout', timeout(), { code: 'upstream_timeout' }],
    ['429', status(429), { code: 'upstream_overloaded', retryAfterSeconds: 30 }],
    ['429 with Retry-After', { status: 429, retryAfterSeconds: 6.2 }, { retryAfterSeconds: 7 }],
    ['429 with an absurd one', { status: 429, retryAfterSeconds: 1e9 }, { retryAfterSeconds: 3_600 }],
  ])('%s decides', async (_name, reply, expected) => {
    const error: unknown = await setUp([status(500)], [reply])
      .send()
      .catch((cause: unknown) => cause)
    expect(error).toBeInstanceOf(DomainError)
    expect(error).toMatchObject(expected)
  })

  test("a message that names the provider's model says the one that the caller knows", async () => {
    const { send } = setUp([status(404, 'The model `p0/llama` does not exist')])
    await expect(send()).rejects.toMatchObject({ message: 'The model `llama` does not exist' })
  })

  test.each([
    [status(400, "This model's maximum context length is 4096 tokens.")],
    [{ status: 400, body: '{"error":{"message":"too big","code":"context_length_exceeded"}}' }],
    [{ status: 400, body: '{"error":{"message":"request (900 tokens) exceeds the available context size"}}' }],
  ])('a prompt beyond the context is context_length_exceeded', async (reply) => {
    await expect(setUp([reply]).send()).rejects.toMatchObject({ code: 'context_length_exceeded', field: 'messages' })
  })

  test('a 400 that merely mentions the context is a plain rejection', async () => {
    await expect(setUp([status(400, 'context must be a string')]).send()).rejects.toMatchObject({
      code: 'upstream_rejected',
    })
  })

  test('an error body of any size is read no further than 64 KiB', async () => {
    let yielded = 0
    const provider = new FakeProvider('p0', [])
    provider.send = async () => ({
      status: 400,
      contentType: 'application/json',
      retryAfterSeconds: undefined,
      body: (async function* () {
        for (;;) {
          yielded += 1
          yield Buffer.alloc(16_384, 0x20)
        }
      })(),
    })
    const { model } = setUp([{}])
    const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
    const router = new ProviderRouter({
      providers: new Map([['p0', provider]]),
      createBreaker: () => new FakeBreaker(),
      clock: systemClock,
      log,
    })
    const request = chatRequest({}, new AbortController().signal)
    await expect(router.send(model, request)).rejects.toMatchObject({ code: 'upstream_rejected' })
    expect(yielded).toBeLessThanOrEqual(5)
  })
})

describe('the caller disconnects', () => {
  test('no other provider is tried and the breaker records nothing', async () => {
    const leaving = new AbortController()
    const { send, providers, breakers } = setUp(['hang'], [{}])
    const pending = send({}, leaving.signal)
    leaving.abort()
    await expect(pending).rejects.toMatchObject({ name: 'AbortError' })
    expect(providers[1]?.received).toHaveLength(0)
    expect(breakers[0]?.outcomes).toEqual([])
  })
})

describe('circuit breakers', () => {
  test.each<[string, Reply, boolean]>([
    ['a refused connection', refused(), false],
    ['500', status(500), false],
    ['401', status(401), false],
    ['garbage', { type: 'text/html' }, false],
    ['429', status(429), true],
    ['422', status(422), true],
    ['an answer', {}, true],
  ])('%s counts as healthy or not', async (_name, reply, healthy) => {
    const { send, breakers } = setUp([reply])
    await send().catch(() => undefined)
    expect(breakers[0]?.outcomes).toEqual([healthy])
  })

  test('a provider with an open circuit is passed over without counting as a retry', async () => {
    const { send, providers, breakers } = setUp([{}], [{}])
    Object.assign(breakers[0] ?? {}, { open: true })
    expect(await send()).toMatchObject({ upstreamId: 'p1', retries: 0 })
    expect(providers[0]?.received).toHaveLength(0)
  })

  test('let the first provider be tried when all circuits are open', async () => {
    const { send, providers, breakers } = setUp([{}], [{}])
    for (const breaker of breakers) breaker.open = true
    expect(await send()).toMatchObject({ upstreamId: 'p0', retries: 0 })
    expect(providers[1]?.received).toHaveLength(0)
  })
})
