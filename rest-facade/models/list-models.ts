import { parseInput } from '../../server/domain/validation/parse-input.ts'
import type { Route } from '../route.ts'
import { toModelBody } from './model-body.ts'
import { ListModelsQuery, visiblePrivacy } from './models-query.ts'

export const listModelsRoute: Route = {
  method: 'get',
  path: '/models',
  access: 'optional',
  summary: 'List the models; text models unless a type is given',
  input: ListModelsQuery,
  async handler(exchange) {
    const { catalogue, serviceName } = exchange.services
    const { type } = parseInput(ListModelsQuery, exchange.query)
    const models = catalogue.list({ type, privacy: visiblePrivacy(exchange.caller) })
    const data = models.map((model) => toModelBody(model, { serviceName, loadedAt: catalogue.loadedAt }))
    exchange.json(200, { object: 'list', type, data })
  },
}
