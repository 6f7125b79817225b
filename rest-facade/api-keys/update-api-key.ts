import { z } from 'zod'
import { UpdateApiKeyInput } from '../../server/domain/api-keys/inputs.ts'
import { parseInput } from '../../server/domain/validation/parse-input.ts'
import { defineRoute, KEY_BODY_BYTES_MAX, MANAGEMENT_LIMITS } from '../route.ts'
import { toUpdatedKey, UpdatedKey } from './api-key-response.ts'
import { ConsumptionLimitBody } from './consumption-limit.ts'

const { id, description, limitPeriod, modelPrivacy, expiresAt } = UpdateApiKeyInput.shape

const UpdateApiKeyBody = z.strictObject({
  id,
  description,
  consumptionLimit: ConsumptionLimitBody.optional(),
  limitPeriod,
  modelPrivacy,
  expiresAt,
})

export const updateApiKeyRoute = defineRoute({
  method: 'patch',
  path: '/api_keys',
  access: 'admin',
  limits: MANAGEMENT_LIMITS,
  body: { kind: 'json', limitBytes: KEY_BODY_BYTES_MAX, schema: UpdateApiKeyBody },
  summary: 'Change the description, limits, privacy or expiry of an API key',
  output: { json: z.object({ data: UpdatedKey, success: z.literal(true) }) },
  errors: ['invalid_request'],
  handler: async (exchange) => {
    const { consumptionLimit, ...changes } = parseInput(UpdateApiKeyBody, exchange.body)
    const { accountId } = exchange.requireCaller()
    const key = await exchange.services.access.apiKeys.update(accountId, { ...changes, limits: consumptionLimit })
    return { json: { data: toUpdatedKey(key), success: true as const } }
  },
})
