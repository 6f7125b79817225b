import { z } from 'zod'
import { defineRoute, MANAGEMENT_LIMITS } from '../route.ts'
import { ListedKey, toListedKey } from './api-key-response.ts'

export const listApiKeysRoute = defineRoute({
  method: 'get',
  path: '/api_keys',
  access: 'admin',
  limits: MANAGEMENT_LIMITS,
  summary: 'List the active API keys of the account with their spending, newest first',
  output: { json: z.object({ data: z.array(ListedKey), object: z.literal('list') }) },
  errors: [],
  handler: async (exchange) => {
    const keys = await exchange.services.access.apiKeys.list(exchange.requireCaller().accountId)
    return { json: { data: keys.map(toListedKey), object: 'list' as const } }
  },
})
