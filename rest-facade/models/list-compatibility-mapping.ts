import { parseInput } from '../../server/domain/validation/parse-input.ts'
import { defineRoute, SHOWN_LIMITS } from '../route.ts'
import { ModelNames, ModelTypeQuery, visiblePrivacy } from './models-query.ts'

export const listCompatibilityMappingRoute = defineRoute({
  method: 'get',
  path: '/models/compatibility_mapping',
  access: 'optional',
  limits: SHOWN_LIMITS,
  summary: 'List model names of other services and the models that they map to',
  parameters: { query: ModelTypeQuery },
  output: { json: ModelNames },
  errors: ['invalid_request'],
  async handler(exchange) {
    const { type } = parseInput(ModelTypeQuery, exchange.query)
    const data = exchange.services.models.catalogue.compatibility(type, visiblePrivacy(exchange.caller))
    return { json: { object: 'list' as const, type, data } }
  },
})
