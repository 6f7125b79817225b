import { EmbeddingRequest } from '../../server/domain/inference/embeddings/embedding-request.ts'
import { setMeteringHeaders } from '../headers.ts'
import { modelNameOf } from '../models/model-name-of.ts'
import { setModelHeaders } from '../models/model-headers.ts'
import { JSON_BODY_BYTES_MAX, type Route } from '../route.ts'

export const createEmbeddingsRoute: Route = {
  method: 'post',
  path: '/embeddings',
  access: 'inference',
  body: { kind: 'json', limitBytes: JSON_BODY_BYTES_MAX },
  ratePlan: ({ services, body }, caller) => {
    const model = services.catalogue.findNamed(modelNameOf(body), 'embedding')
    return model === undefined ? undefined : services.ratePlans.planForEmbedding(caller, model)
  },
  summary: 'Turn texts into vectors',
  input: EmbeddingRequest,
  async handler(exchange) {
    const { body, metered, served } = await exchange.services.embeddings.embed(exchange.context, exchange.body)
    setMeteringHeaders(exchange, metered)
    setModelHeaders(exchange, served)
    exchange.json(200, body)
  },
}
