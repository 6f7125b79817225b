import type { WindowCharge } from '../domain/rate-limits/window-store.ts'

/**
 * Width of one bucket. All buckets but one fill the window and the last is the one in progress, so that what is
 * counted always spans at least the whole window; rounding up keeps that true for windows that do not divide evenly.
 */
export function bucketMs(charge: WindowCharge): number {
  return Math.ceil((charge.windowSeconds * 1000) / (charge.buckets - 1))
}
