import type { Route } from '../route.ts'

export const listNetworksRoute: Route = {
  method: 'get',
  path: '/crypto/rpc/networks',
  access: 'public',
  summary: 'List the networks of the JSON-RPC proxy',
  async handler(exchange) {
    exchange.json(200, { networks: exchange.services.rpc.networks().map(({ slug }) => slug) })
  },
}
