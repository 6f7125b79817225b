import { z } from 'zod'
import type { ModelDefinition, ModelType } from '../../server/domain/catalogue/model-definition.ts'
import { decodeCursor, type Page, type PageRequest, toPage } from '../../server/domain/page.ts'
import { invalidField } from '../../server/domain/validation/parse-input.ts'
import type { GraphQLContext } from '../context.ts'

interface ListModelsRequest extends PageRequest {
  type: ModelType | null | undefined
}

/** A page of the catalogue in its own order, without the models that the caller's key hides. */
export function listModels(
  { type, first, after }: ListModelsRequest,
  { services, caller }: GraphQLContext,
): Page<ModelDefinition> {
  const privacy = caller?.modelPrivacy ?? 'ALL'
  const filter = type ?? 'all'
  const models = services.models.catalogue.list({ type: filter, privacy })
  // All callers see the same catalogue, so its cursors belong to no account.
  const scope = { list: `models:${filter}:${privacy}`, accountId: 'public' }
  const begin = after == null ? 0 : indexBehind(models, decodeCursor(scope, z.tuple([z.string()]), after)[0])
  return toPage(models.slice(begin, begin + first + 1), first, { scope, keyOf: ({ id }) => [id] })
}

function indexBehind(models: readonly ModelDefinition[], id: string): number {
  const index = models.findIndex((model) => model.id === id)
  if (index === -1) throw invalidField('after', 'refers to a model that is no longer available; start again without it')
  return index + 1
}
