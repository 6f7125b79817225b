import type { Arrival } from './limiter.ts'

/** The arrivals, in ascending order, that a limiter would have admitted if it remembered every request. */
export function permittedBy(
  { limit, windowMs }: { limit: number; windowMs: number },
  arrivals: readonly Arrival[],
): number {
  const admitted: Arrival[] = []
  let first = 0
  let inWindow = 0
  let total = 0
  for (const arrival of arrivals) {
    for (let oldest = admitted[first]; oldest && oldest.atMs + windowMs <= arrival.atMs; oldest = admitted[++first]) {
      inWindow -= oldest.weight
    }
    if (inWindow + arrival.weight > limit) continue
    admitted.push(arrival)
    inWindow += arrival.weight
    total += arrival.weight
  }
  return total
}

/** How many windows exceed the limit: only windows that end with a booking need to be checked. */
export function windowsOver(
  { limit, windowMs }: { limit: number; windowMs: number },
  bookings: readonly Arrival[],
): number {
  const ordered = bookings.toSorted((a, b) => a.atMs - b.atMs)
  let first = 0
  let inWindow = 0
  let over = 0
  for (const booking of ordered) {
    inWindow += booking.weight
    for (let oldest = ordered[first]; oldest && oldest.atMs + windowMs <= booking.atMs; oldest = ordered[++first]) {
      inWindow -= oldest.weight
    }
    if (inWindow > limit) over += 1
  }
  return over
}
