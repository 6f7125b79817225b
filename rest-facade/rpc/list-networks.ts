import { z } from 'zod'
import { defineRoute } from '../route.ts'

export const listNetworksRoute = defineRoute({
  method: 'get',
  path: '/crypto/rpc/networks',
  access: 'public',
  limits: null,
  summary: 'List the networks of the JSON-RPC proxy',
  output: { json: z.object({ networks: z.array(z.string()) }) },
  errors: [],
  async handler(exchange) {
    return { json: { networks: exchange.services.rpc.proxy.networks().map(({ slug }) => slug) } }
  },
})
