import type { Route } from '../route.ts'
import { toListedKey } from './api-key-response.ts'

export const listApiKeysRoute: Route = {
  method: 'get',
  path: '/api_keys',
  access: 'admin',
  summary: 'List the active API keys of the account with their spending, newest first',
  handler: async (exchange) => {
    const keys = await exchange.services.apiKeys.list(exchange.requireCaller().accountId)
    exchange.json(200, { data: keys.map(toListedKey), object: 'list' })
  },
}
