import { invalidField } from '../../validation/parse-input.ts'
import type { ModelDefinition, ModelPricing } from '../model-definition.ts'

interface PriceChange {
  model: ModelDefinition
  /** The configuration file's prices, which apply again if `given` is null. */
  configured: ModelPricing
  /** Prices by name; null restores the configuration file's prices. */
  given: ModelPricing | null
  /** Whether a text model's output may cost nothing. */
  free: boolean
}

/**
 * The prices of a model after a change: omitted prices keep their value, and `free` without any prices removes all. Fails
 * with `invalid_request` if output would be free without `free`.
 */
export function changePrices({ model, configured, given, free }: PriceChange): ModelPricing | null {
  const named = given === null || Object.values(given).some((price) => price !== undefined)
  if (!named && !free) throw invalidField('pricing', 'must contain a price, such as {"output": {"usd": 0.8}}')
  const changed = given === null ? null : named ? { ...model.pricing, ...given } : {}
  const outputUsd = (changed ?? configured).output?.usd ?? 0
  if (model.type === 'text' && outputUsd === 0 && !free) {
    throw invalidField(
      'pricing.output',
      `the model ${model.id} would have no price for output tokens; set one, or set free to true (--free) to make its output free`,
    )
  }
  return changed
}
