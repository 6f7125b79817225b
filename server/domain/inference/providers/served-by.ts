import type { ModelDefinition } from '../../catalogue/model-definition.ts'
import type { DeprecationNotice } from '../../catalogue/model-deprecation.ts'

/** Who answered a request: what the response headers say about the model. */
export interface ServedBy {
  model: ModelDefinition
  deprecation: DeprecationNotice | undefined
  providerId: string
  /** Providers that failed before this one answered. */
  retries: number
}
