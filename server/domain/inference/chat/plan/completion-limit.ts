import type { ModelDefinition } from '../../../catalogue/model-definition.ts'
import { invalidField } from '../../../validation/parse-input.ts'
import type { ChatRequest } from './chat-request.ts'

/**
 * The caller's token limit per choice: `max_completion_tokens` overrides `max_tokens`, and values of zero or less count
 * as absent. Fails with `invalid_request` above the model's limit.
 */
export function readCompletionLimit(
  request: Pick<ChatRequest, 'max_completion_tokens' | 'max_tokens'>,
  model: ModelDefinition,
): number | undefined {
  for (const field of ['max_completion_tokens', 'max_tokens'] as const) {
    const limit = request[field]
    if (limit === undefined || limit === null || limit <= 0) continue
    if (limit <= model.maxCompletionTokens) return limit
    const message = `is ${limit}, but the model ${model.id} completes at most ${model.maxCompletionTokens} tokens`
    throw invalidField(field, message)
  }
  return undefined
}
