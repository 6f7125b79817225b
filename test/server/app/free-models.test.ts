import { expect, test } from 'vitest'
import { warnOfFreeModels } from '../../../server/app/free-models.ts'
import { ConfigFile } from '../../../server/config/file/schema.ts'
import type { CatalogueChange } from '../../../server/domain/catalogue/changes/catalogue-change.ts'
import { TokenPricing } from '../../../server/domain/catalogue/token-pricing.ts'
import { createRecordingLog } from '../../support/recording-log.ts'
import { modelDefinition } from '../../support/text-models.ts'

const { providers } = ConfigFile.parse({
  providers: [
    { id: 'remote', kind: 'openai', baseUrl: 'https://models.example.com/v1' },
    { id: 'local', kind: 'openai', baseUrl: 'http://127.0.0.1:11434/v1' },
    { id: 'sandbox', kind: 'sandbox' },
  ],
})
const PRICES = { input: { usd: 1 }, output: { usd: 2 } }
const change: CatalogueChange = {
  id: '018f0000-0000-7000-8000-000000000001',
  modelId: 'm',
  patch: { pricing: {} },
  effectiveAt: new Date(0),
  actor: 'ada',
  reason: 'test',
  createdAt: new Date(0),
  withdrawal: null,
}

test.each([
  ['a text model without prices', 'remote', { pricing: {} }, ['input', 'output']],
  ['a text model without a price for output', 'remote', { pricing: { input: { usd: 1 } } }, ['output']],
  ['an embedding model without a price', 'remote', { type: 'embedding', pricing: {} }, ['input']],
  ['a model with prices', 'remote', { pricing: PRICES }, null],
  ['a model whose price is 0 on purpose', 'remote', { pricing: { input: { usd: 0 }, output: { usd: 0 } } }, null],
  ['a model of a server on this machine', 'local', { pricing: {} }, null],
  ['a model of the sandbox', 'sandbox', { pricing: {} }, null],
  ['an offline model', 'remote', { pricing: {}, offline: true }, null],
] as const)('%s', (_, provider, part, missing) => {
  const log = createRecordingLog()
  const model = modelDefinition({ id: 'm', providers: [{ id: provider, model: 'up' }], ...part })
  const list = () => [{ model, pricing: new TokenPricing(model.pricing), sources: {} }]
  warnOfFreeModels({ providers }, { catalogue: { list }, log })
  const facts = { modelId: 'm', providerId: 'remote', missing }
  expect(log.lines).toMatchObject(missing === null ? [] : [{ level: 'warn', fields: facts }])
})

test('a model that an operator made free is not reported', () => {
  const log = createRecordingLog()
  const model = modelDefinition({ id: 'm', providers: [{ id: 'remote', model: 'up' }], pricing: {} })
  const list = () => [{ model, pricing: new TokenPricing({}), sources: { pricing: change } }]
  warnOfFreeModels({ providers }, { catalogue: { list }, log })
  expect(log.lines).toEqual([])
})
