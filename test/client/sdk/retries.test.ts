import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { AbortedError, ConnectionError, RateLimitError, ServerError, TimeoutError } from '../../../client/sdk/index.ts'
import { eventually } from '../../support/eventually.ts'
import type { Fault } from '../../support/flaky-proxy.ts'
import { errorOf, type SdkHarness, say, startSdkHarness } from '../../support/sdk-harness.ts'

let harness: SdkHarness

beforeAll(async () => {
  harness = await startSdkHarness()
})
afterAll(() => harness[Symbol.asyncDispose]())
beforeEach(() => {
  harness.proxy.seen.length = 0
  harness.waits.length = 0
})

const BROKEN: readonly Fault[] = [
  { kind: 'lost-request' },
  { kind: 'lost-answer' },
  { kind: 'cut', bytes: 20 },
  { kind: 'status', status: 500 },
  { kind: 'status', status: 502 },
]
const embed = () => harness.sluice.embeddings.create({ model: 'test-embedding', input: 'one' })
const balance = () => harness.server.balanceNanoUsd(harness.account.accountId)

describe('a call under an idempotency key', () => {
  test.each(BROKEN)('survives $kind and is charged once, since its retries share the key', async (fault) => {
    const before = await balance()
    harness.proxy.fail(fault)
    const { response } = await harness.sluice.chat.completions.create(say('Hello')).withResponse()
    expect(response.retries).toBe(1)
    expect(response.replayed).toBe(fault.kind === 'lost-answer' || fault.kind === 'cut')
    expect(before - (await balance())).toBe(response.cost?.nanoUsd)
    const keys = harness.proxy.seen.map(({ idempotencyKey }) => idempotencyKey)
    expect(keys).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), keys[0]])
  })

  test('takes a key that the caller chose, by which another call is the same', async () => {
    const options = { idempotencyKey: 'order-17' }
    const first = await harness.sluice.chat.completions.create(say('Hello'), options)
    const again = await harness.sluice.chat.completions.create(say('Hello'), options).withResponse()
    expect(again.data).toEqual(first)
    expect(again.response.replayed).toBe(true)
  })

  test('has a key of its own for each call', async () => {
    await Promise.all([1, 2].map(() => harness.sluice.chat.completions.create(say('Hello'))))
    const [one, other] = harness.proxy.seen.map(({ idempotencyKey }) => idempotencyKey)
    expect(one).not.toBe(other)
  })

  test('makes one API key although the first response was lost', async () => {
    const { apiKeys } = harness.sluice
    const before = (await apiKeys.list()).length
    harness.proxy.fail({ kind: 'lost-answer' })
    await apiKeys.create({ apiKeyType: 'INFERENCE', description: 'once' })
    expect(await apiKeys.list()).toHaveLength(before + 1)
  })

  test('is not repeated after an upstream failure if it writes to a chain', async () => {
    harness.proxy.fail({ kind: 'status', status: 500 })
    const write = harness.sluice.rpc.request('ethereum-mainnet', { method: 'eth_sendRawTransaction', params: ['0x00'] })
    expect(await errorOf(write)).toBeInstanceOf(ServerError)
    expect(harness.proxy.seen).toHaveLength(1)
  })
})

describe('a call without a key', () => {
  test.each(BROKEN)('is not repeated if it may have been executed: $kind', async (fault) => {
    harness.proxy.fail(fault)
    await errorOf(embed())
    harness.proxy.fail(fault)
    await errorOf(harness.sluice.chat.completions.create(say('Hello'), { idempotencyKey: null }))
    harness.proxy.fail(fault)
    await errorOf(harness.sluice.graphql('mutation { revokeApiKey(input: { id: "x" }) { __typename } }'))
    expect(harness.proxy.seen.map(({ path }) => path)).toHaveLength(3)
  })

  test.each([429, 503])('is repeated if it was rejected with %i', async (status) => {
    harness.proxy.fail({ kind: 'status', status }, { kind: 'status', status })
    expect((await embed().withResponse()).response.retries).toBe(2)
  })

  test('is repeated if the service was not reached', async () => {
    const refused = Object.assign(new TypeError('fetch failed'), {
      cause: Object.assign(new Error(), { code: 'ECONNREFUSED' }),
    })
    let tries = 0
    const sluice = harness.connect({
      fetch: (url, init) => (tries++ === 0 ? Promise.reject(refused) : fetch(url, init)),
    })
    await sluice.embeddings.create({ model: 'test-embedding', input: 'one' })
    expect(tries).toBe(2)
  })

  test.each(BROKEN)('is repeated if it only reads: $kind', async (fault) => {
    harness.proxy.fail(fault)
    expect(await harness.sluice.models.list()).toHaveLength(2)
    harness.proxy.fail(fault)
    expect(await harness.sluice.account.retrieve()).toMatchObject({ name: 'test' })
  })
})

describe('the wait before a retry', () => {
  test('doubles from half a second, less a quarter at most', async () => {
    const sluice = harness.connect({ maxRetries: 6 })
    harness.proxy.fail(...Array.from({ length: 6 }, (): Fault => ({ kind: 'lost-request' })))
    await sluice.models.list()
    expect(harness.waits).toHaveLength(6)
    for (const [at, waitMs] of harness.waits.entries()) {
      const fullMs = Math.min(8_000, 500 * 2 ** at)
      expect(waitMs).toBeLessThanOrEqual(fullMs)
      expect(waitMs).toBeGreaterThanOrEqual(fullMs * 0.75)
    }
  })

  test.each([
    ['Retry-After in seconds', () => ({ 'retry-after': '7' }), 7_000],
    ['Retry-After as a date', () => ({ 'retry-after': new Date(Date.now() + 50_000).toUTCString() }), 30_000],
    ['the end of the window', () => ({ 'x-ratelimit-reset': String(Math.ceil(Date.now() / 1_000) + 50) }), 30_000],
  ])('is never shorter than %s', async (_name, headersNow, leastMs) => {
    harness.proxy.fail({ kind: 'status', status: 429, headers: headersNow() })
    await harness.sluice.models.list()
    expect(harness.waits[0]).toBeGreaterThanOrEqual(leastMs)
  })

  test('is left to the caller, with its length, if it exceeds a minute', async () => {
    harness.proxy.fail({ kind: 'status', status: 429, headers: { 'retry-after': '3600' } })
    const error = await errorOf(harness.sluice.models.list())
    expect(error).toBeInstanceOf(RateLimitError)
    expect(error).toMatchObject({ retryAfterSeconds: 3_600 })
    expect(harness.waits).toEqual([])
  })

  test('does not begin if the deadline of the call would pass meanwhile', async () => {
    harness.proxy.fail({ kind: 'status', status: 503, headers: { 'retry-after': '10' } })
    const error = await errorOf(harness.sluice.models.list({}, { deadlineSeconds: 5 }))
    expect(error).toBeInstanceOf(ServerError)
    expect(harness.waits).toEqual([])
  })

  test('is not followed by more attempts than allowed', async () => {
    harness.proxy.fail({ kind: 'lost-request' }, { kind: 'lost-request' })
    expect(await errorOf(harness.sluice.models.list({}, { maxRetries: 1 }))).toBeInstanceOf(ConnectionError)
    expect(harness.proxy.seen).toHaveLength(2)
  })
})

describe('time', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  /** Time passes only once the first request has arrived, however long that takes. */
  const passSecondsInFlight = async (seconds: number) => {
    await expect.poll(() => harness.proxy.seen.length).toBe(1)
    await vi.advanceTimersByTimeAsync(seconds * 1_000)
  }

  test('limits each try, and a keyed call continues with the next one', async () => {
    harness.proxy.fail({ kind: 'hang' })
    const call = harness.sluice.chat.completions.create(say('Hello'), { timeoutSeconds: 60 }).withResponse()
    await passSecondsInFlight(60)
    expect((await call).response.retries).toBe(1)
  })

  test('limits the whole call with all its retries', async () => {
    harness.proxy.fail({ kind: 'hang' })
    const call = errorOf(harness.sluice.models.list({}, { deadlineSeconds: 60 }))
    await passSecondsInFlight(60)
    expect(await call).toBeInstanceOf(TimeoutError)
    expect(harness.proxy.seen).toHaveLength(1)
  })

  test('limits each wait for more of a stream', async () => {
    const create = { ...say('[[fault:hang-mid-stream]]'), stream: true as const }
    const stream = await harness.sluice.chat.completions.create(create, { timeoutSeconds: 60 })
    let isOver = false
    const reading = (async () => {
      for await (const _chunk of stream);
    })().finally(() => (isOver = true))
    const error = errorOf(reading)
    // Each chunk begins the time anew.
    await eventually(async () => {
      await vi.advanceTimersByTimeAsync(60_000)
      expect(isOver).toBe(true)
    })
    expect(await error).toBeInstanceOf(TimeoutError)
  })
})

describe('an AbortSignal', () => {
  const abort = new Error('the user left')

  test('ends a call before it begins', async () => {
    const error = await errorOf(harness.sluice.models.list({}, { signal: AbortSignal.abort(abort) }))
    expect(error).toBeInstanceOf(AbortedError)
    expect(error).toMatchObject({ cause: abort })
    expect(harness.proxy.seen).toEqual([])
  })

  test('ends a call in flight', async () => {
    const controller = new AbortController()
    harness.proxy.fail({ kind: 'hang' })
    const call = errorOf(harness.sluice.models.list({}, { signal: controller.signal }))
    await expect.poll(() => harness.proxy.seen.length).toBe(1)
    controller.abort(abort)
    expect(await call).toBeInstanceOf(AbortedError)
  })

  test('ends the wait for a retry', async () => {
    const controller = new AbortController()
    const sluice = harness.connect({ wait: undefined })
    harness.proxy.fail({ kind: 'status', status: 503, headers: { 'retry-after': '50' } })
    const call = errorOf(sluice.models.list({}, { signal: controller.signal }))
    await expect.poll(() => harness.proxy.seen.length).toBe(1)
    controller.abort(abort)
    expect(await call).toBeInstanceOf(AbortedError)
    expect(harness.proxy.seen).toHaveLength(1)
  })

  test('ends a stream in its middle', async () => {
    const controller = new AbortController()
    const create = { ...say('[[fault:hang-mid-stream]]'), stream: true as const }
    const stream = await harness.sluice.chat.completions.create(create, { signal: controller.signal })
    const reading = (async () => {
      for await (const _chunk of stream) controller.abort(abort)
    })()
    expect(await errorOf(reading)).toMatchObject({ name: 'AbortedError', cause: abort })
  })

  test('ends a list between its pages', async () => {
    const controller = new AbortController()
    const ledger = harness.sluice.ledger.list({ pageSize: 1 }, { signal: controller.signal })
    const reading = (async () => {
      for await (const _entry of ledger) controller.abort(abort)
    })()
    expect(await errorOf(reading)).toBeInstanceOf(AbortedError)
  })
})
