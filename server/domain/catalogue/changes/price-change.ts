import type { ModelDefinition, ModelPricing } from '../model-definition.ts'
import { invalidField } from '../../validation/parse-input.ts'

interface PriceChange {
  model: ModelDefinition
  /** Prices of the configuration file; in effect again if none are given. */
  configured: ModelPricing
  /** Prices by name; null goes back to the configuration file. */
  given: ModelPricing | null
  /** Whether a text model's output may cost nothing. */
  free: boolean
}

/**
 * The prices that a model has after a change: those that are not named keep their value, and `free` without any removes
 * all. Fails with `invalid_request` if output would be free and nobody said that it shall be.
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
