import { z } from 'zod'
import { EmbeddingRequest } from '../../server/domain/inference/embeddings/embedding-request.ts'
import type { Embeddings } from '../../server/domain/inference/embeddings/embedding-service.ts'
import { journalOf } from '../idempotency.ts'
import { modelHeaders, toKeptAnswer } from '../models/model-headers.ts'
import { modelNameOf } from '../models/model-name-of.ts'
import { defineRoute, JSON_BODY_BYTES_MAX } from '../route.ts'
import { PROVIDER_ERRORS } from '../route-errors.ts'

/** A vector is a list of numbers, or its 32-bit floats in Base64. */
const EmbeddingsBody: z.ZodType<Record<string, unknown>> = z.object({
  object: z.literal('list'),
  data: z.array(
    z.object({
      object: z.literal('embedding'),
      index: z.number(),
      embedding: z.union([z.string(), z.array(z.number())]),
    }),
  ),
  model: z.string(),
  usage: z.object({ prompt_tokens: z.number(), total_tokens: z.number() }),
})

export const createEmbeddingsRoute = defineRoute({
  method: 'post',
  path: '/embeddings',
  access: 'inference',
  limits: {
    counted: 'by_service',
    plan: ({ services, body }, caller) => {
      const model = services.models.catalogue.findNamed(modelNameOf(body), 'embedding')
      return model === undefined ? undefined : services.limits.ratePlans.planForEmbedding(caller, model)
    },
  },
  idempotent: true,
  body: { kind: 'json', limitBytes: JSON_BODY_BYTES_MAX, schema: EmbeddingRequest },
  summary: 'Create embeddings of texts',
  output: { json: EmbeddingsBody },
  errors: ['invalid_request', 'model_not_found', 'model_privacy', 'context_length_exceeded', ...PROVIDER_ERRORS],
  async handler(exchange) {
    const { context, services } = exchange
    const journal = journalOf<Embeddings>(exchange, (embeddings) => toKeptAnswer(exchange, embeddings))
    const { body, metered, served } = await services.inference.embeddings.embed({ ...context, journal }, exchange.body)
    return { headers: modelHeaders(exchange, served), metered, json: body }
  },
})
