import type { ResolvedModel } from '../../catalogue/catalogue.ts'
import type { ModelDefinition } from '../../catalogue/model-definition.ts'
import type { DeprecationNotice } from '../../catalogue/model-deprecation.ts'
import type { RoutedResponse } from './provider-router.ts'

/** The provider that served a request, for the response headers about the model. */
export interface ServedBy {
  model: ModelDefinition
  deprecation: DeprecationNotice | undefined
  providerId: string
  retries: number
}

export function toServedBy({ model, deprecation }: ResolvedModel, { upstreamId, retries }: RoutedResponse): ServedBy {
  return { model, deprecation, providerId: upstreamId, retries }
}
