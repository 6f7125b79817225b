import { z } from 'zod'
import type { ModelDefinition } from '../../catalogue/model-definition.ts'
import { invalidField } from '../../validation/parse-input.ts'

const EMBEDDING_INPUTS_MAX = 2_048

const Text = z.string().min(1, { error: 'must not be empty' })

const Texts = z
  .array(z.string())
  .min(1, { error: 'must have at least one text' })
  .max(EMBEDDING_INPUTS_MAX)
  .superRefine((texts, context) => {
    const empty = texts.indexOf('')
    if (empty >= 0) context.addIssue({ code: 'custom', path: [empty], message: 'must not be empty' })
  })

/** Body of `POST /embeddings`; null means absent, and unknown fields pass to the provider. */
export const EmbeddingRequest = z.looseObject({
  model: z.unknown(),
  input: z.union([Text, Texts], {
    error: (issue) => inputProblem(issue.input),
  }),
  encoding_format: z.enum(['float', 'base64']).nullish(),
  dimensions: z.int().min(1).nullish(),
})
export type EmbeddingRequest = z.output<typeof EmbeddingRequest>

/** Replaces the error of a union, which says only that nothing matches. */
function inputProblem(input: unknown): string {
  if (!Array.isArray(input)) return 'must be a string or a list of strings'
  if (input.length > EMBEDDING_INPUTS_MAX) {
    return `has ${input.length} texts; the maximum per request is ${EMBEDDING_INPUTS_MAX}`
  }
  if (input.every((item) => typeof item === 'number' || Array.isArray(item))) {
    return 'Token array inputs are not supported: send strings'
  }
  return `the text at position ${input.findIndex((item) => typeof item !== 'string')} is not a string`
}

/** Fails with `invalid_request` if the model cannot shorten its vectors to that length. */
export function assertDimensions({ dimensions }: EmbeddingRequest, { id, constraints }: ModelDefinition): void {
  if (dimensions === undefined || dimensions === null) return
  const own = constraints['embeddingDimensions']
  if (constraints['supportsCustomDimensions'] !== true) {
    if (dimensions === own) return
    throw invalidField('dimensions', `the model ${id} has fixed dimensions; omit it`)
  }
  if (typeof own === 'number' && dimensions > own) {
    throw invalidField('dimensions', `is ${dimensions}, but the model ${id} has at most ${own}`)
  }
}
