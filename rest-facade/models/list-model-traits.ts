import { parseInput } from '../../server/domain/validation/parse-input.ts'
import type { Route } from '../route.ts'
import { ModelTypeQuery, visiblePrivacy } from './models-query.ts'

export const listModelTraitsRoute: Route = {
  method: 'get',
  path: '/models/traits',
  access: 'optional',
  summary: 'List the traits that can be used as model names, and their models',
  input: ModelTypeQuery,
  async handler(exchange) {
    const { type } = parseInput(ModelTypeQuery, exchange.query)
    const data = exchange.services.catalogue.traits(type, visiblePrivacy(exchange.caller))
    exchange.json(200, { object: 'list', type, data })
  },
}
