import { z } from 'zod'
import { CreateApiKeyInput } from '../../server/domain/api-keys/inputs.ts'
import { parseInput } from '../../server/domain/validation/parse-input.ts'
import { defineRoute, KEY_BODY_BYTES_MAX } from '../route.ts'
import { CreatedKey, toCreatedKey } from './api-key-response.ts'
import { ConsumptionLimitBody } from './consumption-limit.ts'

const { type, description, limitPeriod, modelPrivacy, expiresAt } = CreateApiKeyInput.shape

const GenerateWeb3KeyBody = z.strictObject({
  address: z.string(),
  signature: z.string(),
  token: z.string(),
  apiKeyType: type,
  description: description.default('Web3 API Key'),
  consumptionLimit: ConsumptionLimitBody.prefault({}),
  limitPeriod,
  modelPrivacy,
  expiresAt,
})

export const generateWeb3KeyRoute = defineRoute({
  method: 'post',
  path: '/api_keys/generate_web3_key',
  access: 'public',
  limits: null,
  body: { kind: 'json', limitBytes: KEY_BODY_BYTES_MAX, schema: GenerateWeb3KeyBody },
  summary:
    'Create an API key for a wallet that has stake on Base and signed a token; the answer shows its secret, once',
  output: { json: z.object({ data: CreatedKey, success: z.literal(true) }) },
  errors: ['invalid_request', 'unauthenticated', 'forbidden', 'rate_limited'],
  handler: async (exchange) => {
    const { address, signature, token, apiKeyType, consumptionLimit, ...settings } = parseInput(
      GenerateWeb3KeyBody,
      exchange.body,
    )
    const limits = { usdNano: null, diemNano: null, ...consumptionLimit }
    const created = await exchange.services.wallets.web3Keys.create(
      { address, signature, token, key: { ...settings, type: apiKeyType, limits } },
      { requestId: exchange.requestId, address: exchange.clientAddress },
    )
    return { headers: { 'Cache-Control': 'no-store' }, json: { data: toCreatedKey(created), success: true as const } }
  },
})
