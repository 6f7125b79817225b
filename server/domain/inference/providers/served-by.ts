import type { ResolvedModel } from '../../catalogue/catalogue.ts'
import type { DeprecationNotice } from '../../catalogue/model-deprecation.ts'
import type { ModelDefinition } from '../../catalogue/model-definition.ts'
import type { RoutedResponse } from './provider-router.ts'

/** Who answered a request: what the response headers say about the model. */
export interface ServedBy {
  model: ModelDefinition
  deprecation: DeprecationNotice | undefined
  providerId: string
  /** Providers that failed before this one answered. */
  retries: number
}

export function toServedBy({ model, deprecation }: ResolvedModel, { upstreamId, retries }: RoutedResponse): ServedBy {
  return { model, deprecation, providerId: upstreamId, retries }
}
