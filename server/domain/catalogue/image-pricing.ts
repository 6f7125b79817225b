import { parseUsd } from '../money.ts'
import { invalidField } from '../validation/parse-input.ts'
import type { ImageQuality, ModelDefinition } from './model-definition.ts'

export interface ImageSettings {
  resolution?: string | null | undefined
  quality?: ImageQuality | null | undefined
}

export interface ImagePrice {
  /** Null if the price does not depend on it. */
  resolution: string | null
  quality: ImageQuality | null
  priceNanoUsd: bigint
}

type Prices = Record<string, { usd: number } | undefined>

const DEFAULT_QUALITY: ImageQuality = 'high'

/**
 * The price of one image, as the catalogue publishes it: by resolution and quality, by resolution alone, or one price for
 * all. Omitted settings use the model's defaults. Fails with `invalid_request` for a resolution or quality without a
 * price.
 */
export function priceImage({ pricing, constraints }: ModelDefinition, settings: ImageSettings): ImagePrice {
  const table: Record<string, unknown> | undefined = pricing.quality ?? pricing.resolutions
  if (table === undefined) {
    return { resolution: null, quality: null, priceNanoUsd: toNano(pricing.generation) }
  }
  const resolution = settings.resolution ?? textOf(constraints['defaultResolution']) ?? Object.keys(table)[0] ?? ''
  if (pricing.quality === undefined) {
    return { resolution, quality: null, priceNanoUsd: priceOf(pricing.resolutions ?? {}, 'resolution', resolution) }
  }
  const ofResolution = Object.hasOwn(pricing.quality, resolution) ? pricing.quality[resolution] : undefined
  if (ofResolution === undefined) throw unpriced('resolution', resolution, table)
  const quality = settings.quality ?? qualityOf(constraints['defaultQuality'])
  return { resolution, quality, priceNanoUsd: priceOf(ofResolution, 'quality', quality) }
}

function priceOf(prices: Prices, field: string, name: string): bigint {
  const price = Object.hasOwn(prices, name) ? prices[name] : undefined
  if (price === undefined) throw unpriced(field, name, prices)
  return toNano(price)
}

function unpriced(field: string, name: string, prices: object) {
  return invalidField(field, `is "${name.slice(0, 50)}", but the model has: ${Object.keys(prices).join(', ')}`)
}

function toNano(price: { usd: number } | undefined): bigint {
  return (price === undefined ? undefined : parseUsd(price.usd)) ?? 0n
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function qualityOf(value: unknown): ImageQuality {
  return value === 'low' || value === 'medium' || value === 'high' ? value : DEFAULT_QUALITY
}
