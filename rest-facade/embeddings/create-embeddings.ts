import type { Embeddings } from '../../server/domain/inference/embeddings/embedding-service.ts'
import { EmbeddingRequest } from '../../server/domain/inference/embeddings/embedding-request.ts'
import { setMeteringHeaders } from '../headers.ts'
import { journalOf } from '../idempotency.ts'
import { setModelHeaders, toKeptAnswer } from '../models/model-headers.ts'
import { modelNameOf } from '../models/model-name-of.ts'
import { JSON_BODY_BYTES_MAX, type Route } from '../route.ts'

export const createEmbeddingsRoute: Route = {
  method: 'post',
  path: '/embeddings',
  access: 'inference',
  idempotent: true,
  body: { kind: 'json', limitBytes: JSON_BODY_BYTES_MAX },
  ratePlan: ({ services, body }, caller) => {
    const model = services.catalogue.findNamed(modelNameOf(body), 'embedding')
    return model === undefined ? undefined : services.ratePlans.planForEmbedding(caller, model)
  },
  summary: 'Create embeddings of texts',
  input: EmbeddingRequest,
  async handler(exchange) {
    const { context, services } = exchange
    const journal = journalOf<Embeddings>(exchange, (embeddings) => toKeptAnswer(exchange, embeddings))
    const { body, metered, served } = await services.embeddings.embed({ ...context, journal }, exchange.body)
    setMeteringHeaders(exchange, metered)
    setModelHeaders(exchange, served)
    exchange.json(200, body)
  },
}
