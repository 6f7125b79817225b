import type { ModelPrivacy } from '../caller.ts'
import { DomainError } from '../errors.ts'
import type { ModelDefinition } from './model-definition.ts'

/**
 * Whether a key may see and use a model: PRIVATE_TEXT restricts text and embedding models
 * to private ones, PRIVATE_ONLY all types.
 */
export function isModelAllowed(privacy: ModelPrivacy, model: Pick<ModelDefinition, 'type' | 'privacy'>): boolean {
  if (model.privacy === 'private' || privacy === 'ALL') return true
  return privacy === 'PRIVATE_TEXT' && model.type !== 'text' && model.type !== 'embedding'
}

/** Fails with `model_privacy`. */
export function assertModelAllowed(privacy: ModelPrivacy, model: ModelDefinition): void {
  if (isModelAllowed(privacy, model)) return
  throw new DomainError(
    'model_privacy',
    `The API key's modelPrivacy is ${privacy}, but the model ${model.id} is ${model.privacy}. Use a private model, or a key without this restriction.`,
    { field: 'model', facts: { modelPrivacy: privacy, model: model.id } },
  )
}
