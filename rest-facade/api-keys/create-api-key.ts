import { z } from 'zod'
import { CreateApiKeyInput } from '../../server/domain/api-keys/inputs.ts'
import { parseInput } from '../../server/domain/validation/parse-input.ts'
import { KEY_BODY_BYTES_MAX, type Route } from '../route.ts'
import { toCreatedKey } from './api-key-response.ts'
import { ConsumptionLimitBody } from './consumption-limit.ts'

const { type, description, limitPeriod, modelPrivacy, expiresAt } = CreateApiKeyInput.shape

const CreateApiKeyBody = z.strictObject({
  apiKeyType: type,
  description,
  consumptionLimit: ConsumptionLimitBody.prefault({}),
  limitPeriod,
  modelPrivacy,
  expiresAt,
})

export const createApiKeyRoute: Route = {
  method: 'post',
  path: '/api_keys',
  access: 'admin',
  idempotent: true,
  body: { kind: 'json', limitBytes: KEY_BODY_BYTES_MAX },
  summary: 'Create an API key; the answer shows its secret, once',
  input: CreateApiKeyBody,
  handler: async (exchange) => {
    const { apiKeyType, consumptionLimit, ...settings } = parseInput(CreateApiKeyBody, exchange.body)
    const created = await exchange.services.apiKeys.create(exchange.context, {
      ...settings,
      type: apiKeyType,
      limits: { usdNano: null, diemNano: null, ...consumptionLimit },
    })
    exchange.json(200, { data: toCreatedKey(created), success: true })
  },
}
