import { z } from 'zod'
import type { Caller, ModelPrivacy } from '../../server/domain/caller.ts'
import { MODEL_TYPES } from '../../server/domain/catalogue/model-definition.ts'

export const ListModelsQuery = z.object({ type: z.enum([...MODEL_TYPES, 'all', 'code']).default('text') })

/** Query of the traits and of the compatibility mapping. */
export const ModelTypeQuery = z.object({ type: z.enum(MODEL_TYPES).default('text') })

/** Alternative names of models, each with the id of its model. */
export const ModelNames = z.object({
  object: z.literal('list'),
  type: z.enum(MODEL_TYPES),
  data: z.record(z.string(), z.string()),
})

/** A restricted key sees only models that it may use; other callers see all. */
export function visiblePrivacy(caller: Caller | null): ModelPrivacy {
  return caller?.modelPrivacy ?? 'ALL'
}
