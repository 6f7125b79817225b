import { z } from 'zod'
import { CreateApiKeyInput } from '../../server/domain/api-keys/inputs.ts'
import { parseInput } from '../../server/domain/validation/parse-input.ts'
import { defineRoute, KEY_BODY_BYTES_MAX, MANAGEMENT_LIMITS } from '../route.ts'
import { CreatedKey, toCreatedKey } from './api-key-response.ts'
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

export const createApiKeyRoute = defineRoute({
  method: 'post',
  path: '/api_keys',
  access: 'admin',
  limits: MANAGEMENT_LIMITS,
  idempotent: true,
  body: { kind: 'json', limitBytes: KEY_BODY_BYTES_MAX, schema: CreateApiKeyBody },
  summary: 'Create an API key; its secret is shown once',
  output: { json: z.object({ data: CreatedKey, success: z.literal(true) }) },
  errors: ['invalid_request', 'rate_limited', 'conflict'],
  handler: async (exchange) => {
    const { apiKeyType, consumptionLimit, ...settings } = parseInput(CreateApiKeyBody, exchange.body)
    const created = await exchange.services.access.apiKeys.create(exchange.context, {
      ...settings,
      type: apiKeyType,
      limits: { usdNano: null, diemNano: null, ...consumptionLimit },
    })
    return { json: { data: toCreatedKey(created), success: true as const } }
  },
})
