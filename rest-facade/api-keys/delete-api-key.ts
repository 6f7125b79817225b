import { z } from 'zod'
import { parseInput } from '../../server/domain/validation/parse-input.ts'
import { KEY_BODY_BYTES_MAX, type Route } from '../route.ts'

const DeleteApiKeyInput = z.strictObject({ id: z.string() })

export const deleteApiKeyRoute: Route = {
  method: 'delete',
  path: '/api_keys',
  access: 'admin',
  body: { kind: 'json', limitBytes: KEY_BODY_BYTES_MAX },
  summary: 'Revoke an API key, given in the query parameter id or in a JSON body',
  input: DeleteApiKeyInput,
  handler: async (exchange) => {
    const inQuery = exchange.query['id']
    const { id } = parseInput(DeleteApiKeyInput, inQuery === undefined ? (exchange.body ?? {}) : { id: inQuery })
    await exchange.services.apiKeys.revoke(exchange.requireCaller().accountId, id)
    exchange.json(200, { success: true })
  },
}
