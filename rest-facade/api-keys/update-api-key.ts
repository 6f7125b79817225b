import { z } from 'zod'
import { UpdateApiKeyInput } from '../../server/domain/api-keys/inputs.ts'
import { parseInput } from '../../server/domain/validation/parse-input.ts'
import { KEY_BODY_BYTES_MAX, type Route } from '../route.ts'
import { toUpdatedKey } from './api-key-response.ts'
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

export const updateApiKeyRoute: Route = {
  method: 'patch',
  path: '/api_keys',
  access: 'admin',
  body: { kind: 'json', limitBytes: KEY_BODY_BYTES_MAX },
  summary: 'Change the description, limits, privacy or expiry of an API key',
  input: UpdateApiKeyBody,
  handler: async (exchange) => {
    const { consumptionLimit, ...changes } = parseInput(UpdateApiKeyBody, exchange.body)
    const { accountId } = exchange.requireCaller()
    const key = await exchange.services.apiKeys.update(accountId, { ...changes, limits: consumptionLimit })
    exchange.json(200, { data: toUpdatedKey(key), success: true })
  },
}
