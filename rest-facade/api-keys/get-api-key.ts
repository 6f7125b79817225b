import type { Route } from '../route.ts'
import { toListedKey } from './api-key-response.ts'

export const getApiKeyRoute: Route = {
  method: 'get',
  path: '/api_keys/:id',
  access: 'admin',
  summary: 'Get one active API key with its spending',
  handler: async (exchange) => {
    const key = await exchange.services.apiKeys.get(exchange.requireCaller().accountId, exchange.param('id'))
    exchange.json(200, { data: toListedKey(key) })
  },
}
