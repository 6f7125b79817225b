import { describe, expect, test } from 'vitest'
import { Catalogue } from '../../../../server/domain/catalogue/catalogue.ts'
import { createFakeClock } from '../../../support/fake-clock.ts'
import { modelDefinition } from '../../../support/text-models.ts'

const DEPRECATION = { date: '2026-03-01T00:00:00Z', replacementModelId: 'llama-3.3-70b' }

const MODELS = [
  modelDefinition({ id: 'llama-3.3-70b', traits: ['default', 'fastest'] }),
  modelDefinition({ id: 'qwen/coder_32b', traits: ['default_code'], capabilities: { optimizedForCode: true } }),
  modelDefinition({ id: 'claude-x', privacy: 'anonymized', traits: ['most_intelligent'] }),
  modelDefinition({ id: 'remapped', deprecation: { ...DEPRECATION, autoRemap: true } }),
  modelDefinition({ id: 'refused', deprecation: { ...DEPRECATION, startsAt: '2026-02-01T00:00:00Z' } }),
  modelDefinition({ id: 'asleep', offline: true }),
  modelDefinition({ id: 'bge-m3', type: 'embedding', privacy: 'anonymized', traits: ['default'] }),
]

function createCatalogue(nowIso = '2026-01-15T12:00:00Z'): Catalogue {
  return new Catalogue({
    models: MODELS,
    compatibility: { text: { 'gpt-4o': 'llama-3.3-70b' }, embedding: { 'text-embedding-ada-002': 'bge-m3' } },
    serviceName: 'acme',
    clock: createFakeClock(nowIso),
  })
}

const ids = (models: { id: string }[]): string[] => models.map((model) => model.id)

describe('resolve', () => {
  test.each([
    ['llama-3.3-70b', 'llama-3.3-70b'],
    ['default', 'llama-3.3-70b'],
    ['default_code', 'qwen/coder_32b'],
    ['gpt-4o', 'llama-3.3-70b'],
    ['llama-3-3-70b', 'llama-3.3-70b'],
    ['Llama 3.3 70B', 'llama-3.3-70b'],
    ['qwen/coder-32b', 'qwen/coder_32b'],
    ['acme-claude-x', 'claude-x'],
    ['acme-gpt-4o', 'llama-3.3-70b'],
    ['acme-llama_3.3_70b', 'llama-3.3-70b'],
    ['default-code', 'qwen/coder_32b'],
  ])('reads %s as %s', (name, id) => {
    expect(createCatalogue().resolve(name, 'text').model.id).toBe(id)
  })

  test('keeps traits and mappings of one type apart from those of another', () => {
    const catalogue = createCatalogue()
    expect(catalogue.resolve('default', 'embedding').model.id).toBe('bge-m3')
    expect(() => catalogue.resolve('text-embedding-ada-002', 'text')).toThrow(/Specified model not found/)
  })

  test.each([
    [undefined, 'invalid_request', /^model is required$/],
    ['', 'invalid_request', /^model is required$/],
    [null, 'invalid_request', /^model is required$/],
    [7, 'invalid_request', /^model must be a string$/],
    [['llama-3.3-70b'], 'invalid_request', /^model must be a string$/],
    ['x'.repeat(501), 'invalid_request', /at most 500 characters; it has 501/],
    ['lama-3.3-70b', 'model_not_found', /^Specified model not found: lama-3.3-70b; did you mean llama-3.3-70b\?/],
    ['gpt-4p', 'model_not_found', /did you mean gpt-4o\?/],
    ['zzzzzzzzzzzzzzzz', 'model_not_found', /^Specified model not found: zzzzzzzzzzzzzzzz\. GET/],
    ['__proto__', 'model_not_found', /^Specified model not found/],
    ['constructor', 'model_not_found', /^Specified model not found/],
    ['bge-m3', 'model_not_found', /has the type embedding, but this endpoint requires text/],
    ['asleep', 'unavailable', /offline/],
  ])('rejects %s with %s', (name, code, message) => {
    expect(() => createCatalogue().resolve(name, 'text')).toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(message), field: 'model' }),
    )
  })
})

describe('deprecation', () => {
  test('warns with the message and date once its notice has begun', () => {
    expect(createCatalogue('2026-01-15T00:00:00Z').resolve('refused', 'text').deprecation).toBeUndefined()
    const { model, deprecation } = createCatalogue('2026-02-01T00:00:00Z').resolve('refused', 'text')
    expect(model.id).toBe('refused')
    expect(deprecation).toEqual({
      date: '2026-03-01T00:00:00Z',
      message: 'The model refused is deprecated as of 2026-03-01T00:00:00Z. Use llama-3.3-70b instead.',
    })
  })

  test('lets an automatic replacement respond after the removal, still with the warning', () => {
    const { model, deprecation } = createCatalogue('2026-03-01T00:00:00Z').resolve('remapped', 'text')
    expect(model.id).toBe('llama-3.3-70b')
    expect(deprecation?.message).toContain('remapped')
  })

  test('names the replacement in the rejection after a removal without automatic replacement', () => {
    expect(() => createCatalogue('2026-03-01T00:00:00Z').resolve('refused', 'text')).toThrow(
      expect.objectContaining({ code: 'model_not_found', facts: { replacementModelId: 'llama-3.3-70b' } }),
    )
  })

  test('retired models leave the list', () => {
    expect(ids(createCatalogue('2026-03-01T00:00:00Z').list({ type: 'text', privacy: 'ALL' }))).not.toContain('refused')
  })
})

describe('get', () => {
  test.each([
    ['llama-3.3-70b', 'llama-3.3-70b'],
    ['default', 'llama-3.3-70b'],
    ['gpt-4o', 'llama-3.3-70b'],
    ['text-embedding-ada-002', 'bge-m3'],
    ['acme-gpt-4o', 'llama-3.3-70b'],
    ['asleep', 'asleep'],
  ])('reads %s as %s', (name, id) => {
    expect(createCatalogue().get(name, 'ALL').id).toBe(id)
  })

  test.each([
    ['refused', 'ALL', { facts: { replacementModelId: 'llama-3.3-70b' } }],
    ['none', 'ALL', { facts: undefined }],
    ['most_intelligent', 'PRIVATE_ONLY', { facts: undefined }],
  ] as const)('rejects %s for keys of the privacy %s', (name, privacy, expected) => {
    expect(() => createCatalogue('2026-03-01T00:00:00Z').get(name, privacy)).toThrow(
      expect.objectContaining({ code: 'model_not_found', ...expected }),
    )
  })

  test('gives the automatic replacement of a retired model', () => {
    expect(createCatalogue('2026-03-01T00:00:00Z').get('remapped', 'ALL').id).toBe('llama-3.3-70b')
  })
})

describe('list', () => {
  test.each([
    ['embedding', ['bge-m3']],
    ['code', ['qwen/coder_32b']],
    ['all', MODELS.map((model) => model.id)],
    ['image', []],
  ] as const)('contains the models of type %s', (type, expected) => {
    expect(ids(createCatalogue().list({ type, privacy: 'ALL' }))).toEqual(expected)
  })

  test.each([
    ['ALL', true, true],
    ['PRIVATE_TEXT', false, false],
    ['PRIVATE_ONLY', false, false],
  ] as const)('respects the privacy %s: anonymized text %s, anonymized embeddings %s', (privacy, text, embedding) => {
    const listed = ids(createCatalogue().list({ type: 'all', privacy }))
    expect([listed.includes('claude-x'), listed.includes('bge-m3')]).toEqual([text, embedding])
  })

  test('traits and mappings leave out what the key may not use', () => {
    const catalogue = createCatalogue()
    expect(catalogue.traits('text', 'ALL')).toMatchObject({ default: 'llama-3.3-70b', most_intelligent: 'claude-x' })
    expect(catalogue.traits('text', 'PRIVATE_TEXT')).not.toHaveProperty('most_intelligent')
    expect(catalogue.compatibility('embedding', 'PRIVATE_TEXT')).toEqual({})
    expect(catalogue.compatibility('embedding', 'ALL')).toEqual({ 'text-embedding-ada-002': 'bge-m3' })
  })
})
