import { z } from 'zod'
import { parseInput } from '../../server/domain/validation/parse-input.ts'
import { defineRoute, KEY_BODY_BYTES_MAX, MANAGEMENT_LIMITS } from '../route.ts'

const DeleteApiKeyInput = z.strictObject({ id: z.string() })

export const deleteApiKeyRoute = defineRoute({
  method: 'delete',
  path: '/api_keys',
  access: 'admin',
  limits: MANAGEMENT_LIMITS,
  parameters: { query: DeleteApiKeyInput.partial() },
  body: { kind: 'json', limitBytes: KEY_BODY_BYTES_MAX, schema: DeleteApiKeyInput },
  summary: 'Revoke an API key, given in the query parameter id or in a JSON body',
  output: { json: z.object({ success: z.literal(true) }) },
  errors: ['invalid_request'],
  handler: async (exchange) => {
    const inQuery = exchange.query['id']
    const { id } = parseInput(DeleteApiKeyInput, inQuery === undefined ? (exchange.body ?? {}) : { id: inQuery })
    await exchange.services.access.apiKeys.revoke(exchange.requireCaller().accountId, id)
    return { json: { success: true as const } }
  },
})
