import { describe, expect, test } from 'vitest'
import type { ProviderRouter } from '../../../../../server/domain/inference/providers/provider-router.ts'
import { createEmbeddingHarness } from '../../../../support/embedding-harness.ts'
import { jsonAnswer, scriptRouter } from '../../../../support/provider-script.ts'

const USAGE = { prompt_tokens: 7, total_tokens: 7 }
const VECTOR = [0.5, -0.25, 1]
/** 0.5, -0.25 and 1 as little-endian 32-bit floats. */
const BASE64 = 'AAAAPwAAgL4AAIA/'

const answer = (embeddings: unknown[], usage: unknown = USAGE) =>
  jsonAnswer({ object: 'list', model: 'up', data: embeddings.map((embedding, index) => ({ index, embedding })), usage })

const createHarness = (router: Pick<ProviderRouter, 'send'>, constraints: Record<string, unknown> = {}) =>
  createEmbeddingHarness({ router, constraints })

describe('a response', () => {
  test('has the public shape, our model id, and costs its input tokens', async () => {
    const harness = createHarness(scriptRouter(() => answer([VECTOR])))
    const { body, served } = await harness.embed({})
    expect(body).toEqual({
      object: 'list',
      model: 'e',
      data: [{ object: 'embedding', index: 0, embedding: VECTOR }],
      usage: USAGE,
    })
    expect(served).toMatchObject({ model: { id: 'e' }, providerId: 'main', retries: 0 })
    expect(harness.metering.records[0]).toMatchObject({
      usedTokens: 7,
      end: {
        kind: 'settled',
        chargedNanoUsd: 140n,
        usage: { modelType: null, estimated: false, lines: [{ type: 'Input', units: 7, amountNanoUsd: 140n }] },
      },
    })
  })

  test.each([
    ['floats for base64', VECTOR, 'base64', BASE64],
    ['base64 for floats', BASE64, 'float', VECTOR],
    ['base64 for nothing said', BASE64, undefined, VECTOR],
    ['base64 for base64', BASE64, 'base64', BASE64],
  ])('from a provider that gives %s has the requested encoding', async (_, given, encoding, expected) => {
    const { body } = await createHarness(scriptRouter(() => answer([given]))).embed({ encoding_format: encoding })
    expect(body['data']).toMatchObject([{ embedding: expected }])
  })

  test.each([
    ['missing', null],
    ['negative', { prompt_tokens: -1 }],
    ['fractional', { prompt_tokens: 1.5 }],
    ['zero', { prompt_tokens: 0 }],
    ['absurd', { prompt_tokens: 1e9 }],
  ])('is counted by the service if its usage is %s', async (_, usage) => {
    const harness = createHarness(scriptRouter(() => answer([VECTOR], usage)))
    const { body } = await harness.embed({})
    expect(body['usage']).toEqual({ prompt_tokens: 2, total_tokens: 2 })
    expect(harness.metering.records[0]?.end).toMatchObject({ chargedNanoUsd: 40n, usage: { estimated: true } })
  })
})

describe("the provider's request", () => {
  test('is the request without our own fields; unknown ones pass', async () => {
    const router = scriptRouter(() => answer([VECTOR, VECTOR]))
    const body = { input: ['a', 'b'], encoding_format: 'base64', user: 'u', extra: 1, service_parameters: {} }
    await createHarness(router).embed(body)
    const { service_parameters: _own, ...passed } = body
    expect(router.requests[0]).toMatchObject({ operation: 'embeddings', body: { kind: 'json', value: passed } })
    expect(router.requests[0]?.body).not.toHaveProperty('value.model')
  })
})

describe('rejected before anything is held', () => {
  const custom = { embeddingDimensions: 8, supportsCustomDimensions: true, maxInputTokens: 10 }
  test.each([
    [{ input: undefined }, 'invalid_request', /input: must be a string or a list of strings/],
    [{ input: '' }, 'invalid_request', /input: must not be empty/],
    [{ input: [] }, 'invalid_request', /input: must have at least one text/],
    [{ input: ['a', ''] }, 'invalid_request', /input.1: must not be empty/],
    [{ input: ['a', 1] }, 'invalid_request', /the text at position 1 is not a string/],
    [{ input: [1, 2, 3] }, 'invalid_request', /Token array inputs are not supported: send strings/],
    [{ input: [[1, 2], [3]] }, 'invalid_request', /Token array inputs are not supported: send strings/],
    [{ input: Array(2_049).fill('a') }, 'invalid_request', /has 2049 texts; the maximum per request is 2048/],
    [
      { input: 'word '.repeat(11) },
      'context_length_exceeded',
      /at most 10 tokens per text, but the text at position 0 has 12\. Split it/,
    ],
    [{ input: 'x'.repeat(1_000_000) }, 'context_length_exceeded', /at least \d+/],
    [{ encoding_format: 'hex' }, 'invalid_request', /encoding_format/],
    [{ dimensions: 0 }, 'invalid_request', /dimensions/],
    [{ dimensions: 9 }, 'invalid_request', /dimensions: is 9, but the model e has at most 8/],
    [{ model: 'none' }, 'model_not_found', /Specified model not found/],
    [{ model: 'm' }, 'model_not_found', /has the type text/],
    [{ model: undefined }, 'invalid_request', /model is required/],
    [{ model: 'hidden' }, 'model_privacy', /PRIVATE_ONLY/],
  ])('%j', async (body, code, message) => {
    const router = scriptRouter(() => answer([VECTOR]))
    const harness = createHarness(router, custom)
    await expect(harness.embed(body)).rejects.toMatchObject({ code, message: expect.stringMatching(message) })
    expect(harness.metering.records).toEqual([])
  })

  test('custom dimensions on a model with fixed ones', async () => {
    const harness = createHarness(
      scriptRouter(() => answer([VECTOR])),
      { embeddingDimensions: 8 },
    )
    await expect(harness.embed({ dimensions: 4 })).rejects.toMatchObject({
      code: 'invalid_request',
      field: 'dimensions',
    })
    await expect(harness.embed({ dimensions: 8 })).resolves.toBeDefined()
  })
})

describe('nothing is charged', () => {
  test.each([
    ['garbage', jsonAnswer('<html>')],
    ['no embeddings', jsonAnswer({ error: 'boom' })],
    ['too few embeddings', answer([])],
    ['text that is no vector', answer(['abc'])],
  ])('for a response that is %s', async (_, response) => {
    const harness = createHarness(scriptRouter(() => response))
    await expect(harness.embed({})).rejects.toMatchObject({ code: 'upstream_failed' })
    expect(harness.metering.records[0]?.end).toEqual({ kind: 'released' })
  })

  test('for a provider failure', async () => {
    const error = new Error('down')
    const harness = createHarness(scriptRouter(() => Promise.reject(error)))
    await expect(harness.embed({})).rejects.toBe(error)
    expect(harness.metering.records[0]?.end).toEqual({ kind: 'released' })
  })

  test('for a client that disconnects', async () => {
    const harness = createHarness(
      scriptRouter(async ({ signal }) => {
        harness.abort.abort()
        signal.throwIfAborted()
        return answer([VECTOR])
      }),
    )
    await expect(harness.embed({})).rejects.toMatchObject({ code: 'unavailable' })
    expect(harness.metering.records[0]?.end).toEqual({ kind: 'released' })
  })
})

test('2,048 texts are held with room for each and returned in order', async () => {
  const input = Array.from({ length: 2_048 }, (_, index) => `text ${index}`)
  const harness = createHarness(
    scriptRouter(() =>
      answer(
        input.map((_, index) => [index]),
        null,
      ),
    ),
  )
  const { body } = await harness.embed({ input })
  expect((body['data'] as { embedding: number[] }[]).map(({ embedding }) => embedding[0])).toEqual([...input.keys()])
  expect(harness.metering.records[0]?.admission.holdNanoUsd).toBeGreaterThanOrEqual(2_048n * 16n * 20n)
})
