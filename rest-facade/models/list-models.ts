import { z } from 'zod'
import { parseInput } from '../../server/domain/validation/parse-input.ts'
import { defineRoute, SHOWN_LIMITS } from '../route.ts'
import { ModelBody, toModelBody } from './model-body.ts'
import { ListModelsQuery, visiblePrivacy } from './models-query.ts'

const ModelList = z.object({
  object: z.literal('list'),
  type: ListModelsQuery.shape.type.unwrap(),
  data: z.array(ModelBody),
})

export const listModelsRoute = defineRoute({
  method: 'get',
  path: '/models',
  access: 'optional',
  limits: SHOWN_LIMITS,
  summary: 'List the models; text models unless a type is given',
  parameters: { query: ListModelsQuery },
  output: { json: ModelList },
  errors: ['invalid_request'],
  async handler(exchange) {
    const {
      models: { catalogue },
      identity: { serviceName },
    } = exchange.services
    const { type } = parseInput(ListModelsQuery, exchange.query)
    const models = catalogue.list({ type, privacy: visiblePrivacy(exchange.caller) })
    const data = models.map((model) => toModelBody(model, { serviceName, loadedAt: catalogue.loadedAt }))
    return { json: { object: 'list' as const, type, data } }
  },
})
