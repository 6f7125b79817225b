import type { Route } from '../route.ts'

export const generateWeb3TokenRoute: Route = {
  method: 'get',
  path: '/api_keys/generate_web3_key',
  access: 'public',
  summary: 'Get a token that a wallet with stake signs to create an API key',
  handler: async (exchange) => {
    const token = await exchange.services.web3Keys.token(exchange.clientAddress)
    exchange.setHeader('Cache-Control', 'no-store')
    exchange.json(200, { success: true, data: { token } })
  },
}
