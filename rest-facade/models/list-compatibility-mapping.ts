import { parseInput } from '../../server/domain/validation/parse-input.ts'
import type { Route } from '../route.ts'
import { ModelTypeQuery, visiblePrivacy } from './models-query.ts'

export const listCompatibilityMappingRoute: Route = {
  method: 'get',
  path: '/models/compatibility_mapping',
  access: 'optional',
  summary: 'List model names of other services and the models that they map to',
  input: ModelTypeQuery,
  async handler(exchange) {
    const { type } = parseInput(ModelTypeQuery, exchange.query)
    const data = exchange.services.catalogue.compatibility(type, visiblePrivacy(exchange.caller))
    exchange.json(200, { object: 'list', type, data })
  },
}
