import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { getModelRoute } from '../../../rest-facade/models/get-model.ts'
import { listCompatibilityMappingRoute } from '../../../rest-facade/models/list-compatibility-mapping.ts'
import { listModelTraitsRoute } from '../../../rest-facade/models/list-model-traits.ts'
import { listModelsRoute } from '../../../rest-facade/models/list-models.ts'
import { Catalogue } from '../../../server/domain/catalogue/catalogue.ts'
import { keyCaller } from '../../support/callers.ts'
import { createFakeClock } from '../../support/fake-clock.ts'
import { type RestHarness, startRestHarness } from '../../support/rest-harness.ts'
import { modelDefinition } from '../../support/text-models.ts'

const MODELS = [
  modelDefinition({
    id: 'llama-3.3-70b',
    name: 'Llama 3.3 70B',
    traits: ['default'],
    contextTokens: 131_072,
    maxCompletionTokens: 8_192,
    capabilities: { supportsFunctionCalling: true },
    createdAt: '2026-01-01T00:00:00Z',
    pricing: {
      input: { usd: 0.15 },
      output: { usd: 0.6 },
      extended: { context_token_threshold: 200_000, input: { usd: 0.3 } },
    },
    deprecation: { date: '2026-12-31T00:00:00Z', replacementModelId: 'coder' },
  }),
  modelDefinition({ id: 'coder', privacy: 'anonymized', capabilities: { optimizedForCode: true } }),
  modelDefinition({ id: 'openai/whisper-large-v3', type: 'asr', pricing: { per_audio_second: { usd: 0.0001 } } }),
  modelDefinition({
    id: 'painter',
    type: 'image',
    constraints: { steps: { default: 20, max: 30 } },
    pricing: { upscale: { '2x': { usd: 0.02 } } },
  }),
  modelDefinition({ id: 'bge-m3', type: 'embedding', constraints: { embeddingDimensions: 1_024 } }),
]

let rest: RestHarness

beforeAll(async () => {
  const compatibility = { text: { 'gpt-4o': 'llama-3.3-70b' } }
  const catalogue = new Catalogue({ models: MODELS, compatibility, serviceName: 'service', clock: createFakeClock() })
  const routes = [listModelsRoute, listModelTraitsRoute, listCompatibilityMappingRoute, getModelRoute]
  rest = await startRestHarness(routes, { models: { catalogue }, caller: keyCaller({ modelPrivacy: 'PRIVATE_TEXT' }) })
})
afterAll(() => rest[Symbol.asyncDispose]())

interface ModelsBody {
  object: string
  type: string
  code?: string
  data: { id: string }[]
}

async function get(path: string, headers: Record<string, string> = {}) {
  const response = await fetch(rest.baseUrl + path, { headers })
  return { status: response.status, body: (await response.json()) as ModelsBody }
}

describe('200', () => {
  test.each([
    ['/models', 'text', ['llama-3.3-70b', 'coder']],
    ['/models?type=text', 'text', ['llama-3.3-70b', 'coder']],
    ['/models?type=code', 'code', ['coder']],
    ['/models?type=asr', 'asr', ['openai/whisper-large-v3']],
    ['/models?type=video', 'video', []],
    ['/models?type=all', 'all', MODELS.map((model) => model.id)],
  ])('%s lists models of the type', async (path, type, ids) => {
    const { status, body } = await get(path)
    expect([status, body.object, body.type]).toEqual([200, 'list', type])
    expect(body.data.map((model) => model.id)).toEqual(ids)
  })

  test('a text model has the whole published shape', async () => {
    const { body } = await get('/models/llama-3.3-70b')
    expect(body).toEqual({
      id: 'llama-3.3-70b',
      object: 'model',
      created: 1_767_225_600,
      owned_by: 'service',
      type: 'text',
      context_length: 131_072,
      model_spec: {
        name: 'Llama 3.3 70B',
        offline: false,
        privacy: 'private',
        traits: ['default'],
        availableContextTokens: 131_072,
        maxCompletionTokens: 8_192,
        capabilities: {
          optimizedForCode: false,
          supportsFunctionCalling: true,
          supportsAudioInput: false,
          supportsReasoning: false,
          supportsReasoningEffort: false,
          supportsResponseSchema: false,
          supportsMultipleImages: false,
          supportsVision: false,
          supportsVideoInput: false,
          supportsWebSearch: false,
          supportsLogProbs: false,
          supportsTeeAttestation: false,
          supportsE2EE: false,
          supportsXSearch: false,
          quantization: 'not-available',
        },
        constraints: { temperature: { default: 1 }, top_p: { default: 1 } },
        pricing: {
          input: { usd: 0.15, diem: 0.15 },
          output: { usd: 0.6, diem: 0.6 },
          extended: { context_token_threshold: 200_000, input: { usd: 0.3, diem: 0.3 } },
        },
        deprecation: {
          autoRemap: false,
          date: '2026-12-31T00:00:00Z',
          removesAt: '2026-12-31T00:00:00Z',
          replacementModelId: 'coder',
        },
      },
    })
  })

  test('an id with a slash is one id, escaped or not', async () => {
    for (const id of ['openai/whisper-large-v3', 'openai%2Fwhisper-large-v3']) {
      expect((await get(`/models/${id}`)).body).toMatchObject({ id: 'openai/whisper-large-v3', type: 'asr' })
    }
  })

  test('other types have their own fields, and prices in both currencies at any depth', async () => {
    expect((await get('/models/painter')).body).toMatchObject({
      model_spec: { constraints: { steps: { max: 30 } }, pricing: { upscale: { '2x': { usd: 0.02, diem: 0.02 } } } },
    })
    expect((await get('/models/bge-m3')).body).toMatchObject({ model_spec: { embeddingDimensions: 1_024 } })
  })

  test('traits and compatibility mapping', async () => {
    expect((await get('/models/traits')).body).toEqual({
      object: 'list',
      type: 'text',
      data: { default: 'llama-3.3-70b' },
    })
    expect((await get('/models/compatibility_mapping?type=text')).body).toEqual({
      object: 'list',
      type: 'text',
      data: { 'gpt-4o': 'llama-3.3-70b' },
    })
  })

  test('a restricted key sees only what it may use', async () => {
    const headers = { authorization: 'Bearer key' }
    const { body } = await get('/models', headers)
    expect(body.data.map((model) => model.id)).toEqual(['llama-3.3-70b'])
    expect((await get('/models/coder', headers)).status).toBe(404)
  })
})

test.each(['default', 'gpt-4o'])('the name %s resolves to its model', async (name) => {
  const { status, body } = await get(`/models/${name}`)
  expect([status, body]).toMatchObject([200, { id: 'llama-3.3-70b' }])
})

describe('400 and 404', () => {
  test.each(['/models?type=decision', '/models?type=', '/models/traits?type=all', '/models?type=text&type=image'])(
    '%s is rejected and names the field',
    async (path) => {
      const { status, body } = await get(path)
      expect(status).toBe(400)
      expect(body).toMatchObject({ details: { type: { _errors: [expect.any(String)] } } })
    },
  )

  test('an unknown id', async () => {
    const { status, body } = await get('/models/none')
    expect([status, body.code]).toEqual([404, 'MODEL_NOT_FOUND'])
  })
})
