import { z } from 'zod'
import { defineRoute, SHOWN_LIMITS } from '../route.ts'
import { ModelBody, toModelBody } from './model-body.ts'
import { visiblePrivacy } from './models-query.ts'

export const getModelRoute = defineRoute({
  method: 'get',
  // A splat, because ids such as openai/whisper-large-v3 contain slashes.
  path: '/models/*id',
  access: 'optional',
  limits: SHOWN_LIMITS,
  summary: 'Get one model',
  parameters: { path: z.object({ id: z.string() }) },
  output: { json: ModelBody },
  errors: ['model_not_found', 'model_privacy'],
  async handler(exchange) {
    const {
      models: { catalogue },
      identity: { serviceName },
    } = exchange.services
    const model = catalogue.get(exchange.param('id'), visiblePrivacy(exchange.caller))
    return { json: toModelBody(model, { serviceName, loadedAt: catalogue.loadedAt }) }
  },
})
