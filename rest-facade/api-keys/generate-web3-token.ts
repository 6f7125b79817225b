import { z } from 'zod'
import { defineRoute } from '../route.ts'

export const generateWeb3TokenRoute = defineRoute({
  method: 'get',
  path: '/api_keys/generate_web3_key',
  access: 'public',
  limits: null,
  summary: 'Get a token that a wallet with stake signs to create an API key',
  output: { json: z.object({ success: z.literal(true), data: z.object({ token: z.string() }) }) },
  errors: ['rate_limited'],
  handler: async (exchange) => {
    const token = await exchange.services.wallets.web3Keys.token(exchange.clientAddress)
    return { headers: { 'Cache-Control': 'no-store' }, json: { success: true as const, data: { token } } }
  },
})
