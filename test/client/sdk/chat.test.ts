import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ChatCompletionChunk, ChatStream } from '../../../client/sdk/index.ts'
import { AbortedError, ConnectionError, RateLimitError, ServerError, SluiceError } from '../../../client/sdk/index.ts'
import { errorOf, type SdkHarness, say, startSdkHarness } from '../../support/sdk-harness.ts'

let harness: SdkHarness

beforeAll(async () => {
  harness = await startSdkHarness()
})
afterAll(() => harness[Symbol.asyncDispose]())

const balance = () => harness.server.balanceNanoUsd(harness.account.accountId)
const stream = (content: string) => harness.sluice.chat.completions.create({ ...say(content), stream: true })

async function read(stream: ChatStream): Promise<ChatCompletionChunk[]> {
  const chunks: ChatCompletionChunk[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return chunks
}

const textOf = (chunks: readonly ChatCompletionChunk[]) =>
  chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')

describe('a response in one piece', () => {
  test('comes with its exact cost, the balance before it, its limits, its model and its request id', async () => {
    const before = await balance()
    const { data, response } = await harness.sluice.chat.completions.create(say('Hello')).withResponse()
    expect(data.choices[0]?.message.content).toBeTruthy()
    expect(response.cost?.nanoUsd).toBe(before - (await balance()))
    expect(response.cost?.nanoUsd).toBe(
      BigInt(data.usage.prompt_tokens) * 150n + BigInt(data.usage.completion_tokens) * 600n,
    )
    expect(response).toMatchObject({
      status: 200,
      requestId: expect.stringMatching(/^[0-9a-f]{32}$/),
      balances: { usd: '1', diem: '0' },
      model: { id: 'test-model', name: 'Test Model', router: 'main', deprecation: null },
      rateLimits: { scope: 'user', requests: { limit: 500, remaining: 499 }, tokens: { limit: expect.any(Number) } },
      replayed: false,
      retries: 0,
    })
    expect(response.rateLimits.requests?.resetsAt.getTime()).toBeGreaterThan(Date.now())
  })

  test('resolves to the data alone if the call is awaited', async () => {
    const completion = await harness.sluice.chat.completions.create({ ...say('Hello'), service_parameters: {} })
    expect(completion.object).toBe('chat.completion')
  })
})

describe('a stream', () => {
  test('gives its chunks, and its cost and usage at the end', async () => {
    const before = await balance()
    const { data, response } = await stream('Hello').withResponse()
    expect(response.requestId).toMatch(/^[0-9a-f]{32}$/)
    expect(data.cost).toBeNull()
    const chunks = await read(data)
    expect(textOf(chunks)).toBeTruthy()
    expect(data.usage?.completion_tokens).toBeGreaterThan(0)
    expect(data.cost?.nanoUsd).toBe(before - (await balance()))
  })

  test.each(['crlf', 'split', 'comments', 'no-space'])(
    'is whole although the provider writes it so: %s',
    async (fault) => {
      const [plain, odd] = [await read(await stream('Hello')), await read(await stream(`[[fault:${fault}]]`))]
      expect(textOf(odd)).toBe(textOf(plain))
    },
  )

  test('throws the error of its kind if it fails midway', async () => {
    const error = await errorOf(read(await stream('[[fault:stream-error]]')))
    expect(error).toBeInstanceOf(ServerError)
    expect(error).toMatchObject({
      code: 'upstream_error',
      status: 502,
      requestId: expect.stringMatching(/^[0-9a-f]{32}$/),
    })
  })

  test('throws a ConnectionError instead of ending quietly if it is cut off', async () => {
    harness.proxy.fail({ kind: 'cut', bytes: 400 })
    expect(await errorOf(read(await stream('Hello')))).toBeInstanceOf(ConnectionError)
  })

  test('can be left early, and then only the delivered part is charged', async () => {
    harness.server.provider.requests.length = 0
    for await (const chunk of await stream('[[fault:hang-mid-stream]]')) if (chunk.choices[0]?.delta.content) break
    await expect.poll(() => harness.server.provider.requests[0]?.aborted).toBe(true)
  })

  test('ends with an AbortedError when it is aborted', async () => {
    const open = await stream('[[fault:hang-mid-stream]]')
    const seen: ChatCompletionChunk[] = []
    const reading = (async () => {
      for await (const chunk of open) {
        seen.push(chunk)
        open.abort()
      }
    })()
    expect(await errorOf(reading)).toBeInstanceOf(AbortedError)
    expect(seen).toHaveLength(1)
  })

  test('can be read only once', async () => {
    const open = await stream('Hello')
    await read(open)
    expect(await errorOf(read(open))).toBeInstanceOf(SluiceError)
  })

  test('is retried while it is rejected, and never after it began', async () => {
    const { proxy } = harness
    const before = proxy.seen.length
    proxy.fail({ kind: 'status', status: 503 }, { kind: 'status', status: 429, headers: { 'retry-after': '1' } })
    const { data, response } = await stream('Hello').withResponse()
    await read(data)
    expect(response.retries).toBe(2)
    proxy.fail({ kind: 'status', status: 502 })
    expect(await errorOf(stream('Hello'))).toBeInstanceOf(ServerError)
    proxy.fail({ kind: 'lost-answer' })
    expect(await errorOf(stream('Hello'))).toBeInstanceOf(ConnectionError)
    expect(proxy.seen.length - before).toBe(5)
    expect(proxy.seen.every(({ idempotencyKey }, at) => at < before || idempotencyKey === undefined)).toBe(true)
  })

  test('fails before it begins if no model can serve it', async () => {
    const sluice = harness.connect({ maxRetries: 0 })
    const error = await errorOf(sluice.chat.completions.create({ ...say('[[fault:status-429]]'), stream: true }))
    expect(error).toBeInstanceOf(RateLimitError)
    expect(error).toMatchObject({ code: 'MODEL_OVERLOADED', retryAfterSeconds: expect.any(Number) })
  })
})
