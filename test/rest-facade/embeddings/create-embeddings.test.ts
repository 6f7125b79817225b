import { afterAll, beforeAll, expect, test } from 'vitest'
import { createEmbeddingsRoute } from '../../../rest-facade/embeddings/create-embeddings.ts'
import { createEmbeddingHarness } from '../../support/embedding-harness.ts'
import { jsonAnswer, scriptRouter } from '../../support/provider-script.ts'
import { type RestHarness, startRestHarness } from '../../support/rest-harness.ts'

const router = scriptRouter(() =>
  jsonAnswer({ object: 'list', model: 'up', data: [{ index: 0, embedding: [1, 2] }], usage: { prompt_tokens: 3 } }),
)
const harness = createEmbeddingHarness({ router })
let rest: RestHarness
beforeAll(async () => {
  rest = await startRestHarness([createEmbeddingsRoute], {
    inference: { embeddings: harness.service },
    caller: harness.context.caller,
  })
})
afterAll(() => rest[Symbol.asyncDispose]())

const post = (body: unknown) =>
  fetch(`${rest.baseUrl}/embeddings`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer key' },
    body: JSON.stringify(body),
  })

test('200 has the list, and the model, limit and balance headers', async () => {
  const response = await post({ model: 'e', input: 'hello' })
  expect([response.status, await response.json()]).toEqual([
    200,
    {
      object: 'list',
      model: 'e',
      data: [{ object: 'embedding', index: 0, embedding: [1, 2] }],
      usage: { prompt_tokens: 3, total_tokens: 3 },
    },
  ])
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'x-service-model-id': 'e',
    'x-service-model-router': 'main',
    'x-service-balance-usd': '1',
    'x-ratelimit-limit-requests': '100',
  })
})

test('400 for token arrays says what to send', async () => {
  const response = await post({ model: 'e', input: [1, 2, 3] })
  expect([response.status, await response.json()]).toMatchObject([
    400,
    { details: { input: { _errors: ['Token array inputs are not supported: send strings'] } } },
  ])
})
