import type { Route } from '../route.ts'
import { toModelBody } from './model-body.ts'
import { visiblePrivacy } from './models-query.ts'

export const getModelRoute: Route = {
  method: 'get',
  // A splat, since ids such as openai/whisper-large-v3 hold slashes.
  path: '/models/*id',
  access: 'optional',
  summary: 'Get one model',
  async handler(exchange) {
    const { catalogue, serviceName } = exchange.services
    const model = catalogue.get(exchange.param('id'), visiblePrivacy(exchange.caller))
    exchange.json(200, toModelBody(model, { serviceName, loadedAt: catalogue.loadedAt }))
  },
}
