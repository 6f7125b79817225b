import { parseInput } from '../../server/domain/validation/parse-input.ts'
import { defineRoute, SHOWN_LIMITS } from '../route.ts'
import { ModelNames, ModelTypeQuery, visiblePrivacy } from './models-query.ts'

export const listModelTraitsRoute = defineRoute({
  method: 'get',
  path: '/models/traits',
  access: 'optional',
  limits: SHOWN_LIMITS,
  summary: 'List the traits that can be used as model names, and their models',
  parameters: { query: ModelTypeQuery },
  output: { json: ModelNames },
  errors: ['invalid_request'],
  async handler(exchange) {
    const { type } = parseInput(ModelTypeQuery, exchange.query)
    const data = exchange.services.models.catalogue.traits(type, visiblePrivacy(exchange.caller))
    return { json: { object: 'list' as const, type, data } }
  },
})
