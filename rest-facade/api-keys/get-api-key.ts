import { z } from 'zod'
import { defineRoute, MANAGEMENT_LIMITS } from '../route.ts'
import { ListedKey, toListedKey } from './api-key-response.ts'

export const getApiKeyRoute = defineRoute({
  method: 'get',
  path: '/api_keys/:id',
  access: 'admin',
  limits: MANAGEMENT_LIMITS,
  summary: 'Get one active API key with its spending',
  parameters: { path: z.object({ id: z.string() }) },
  output: { json: z.object({ data: ListedKey }) },
  errors: ['invalid_request'],
  handler: async (exchange) => {
    const key = await exchange.services.access.apiKeys.get(exchange.requireCaller().accountId, exchange.param('id'))
    return { json: { data: toListedKey(key) } }
  },
})
