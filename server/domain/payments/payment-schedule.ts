import { isUnresolved, type Payment } from './payment.ts'

/** A run renews its lease well before; what a dead process left is taken over when it ends. */
const LEASE_MS = 15_000
/** Past this much of a payment's validity no reorganisation brings it back. */
export const EXPIRY_MARGIN_MS = 120_000
const WATCH_MS_MAX = 86_400_000
const WATCH_DAYS_MAX = 30
const RETRY_MS = 5_000
const RETRY_MS_MAX = 60_000

/** Until when a payment belongs to the run that works on it. */
export function leaseEnd(now: Date): Date {
  return new Date(now.getTime() + LEASE_MS)
}

/**
 * When to see whether somebody else paid a payment that we refused or failed to settle: at its end, or daily while that
 * is far. Null after a month; a repeat by the payer would still find it.
 */
export function watchAt({ signed, receivedAt }: Payment, now: Date): Date | null {
  if (now.getTime() - receivedAt.getTime() > WATCH_DAYS_MAX * WATCH_MS_MAX) return null
  const endMs = (signed.validUntil?.getTime() ?? now.getTime()) + EXPIRY_MARGIN_MS
  const soonestMs = now.getTime() + RETRY_MS_MAX
  return new Date(Math.max(soonestMs, Math.min(endMs, now.getTime() + WATCH_MS_MAX)))
}

/** When the reconciler looks again at a payment that it could not end: soon at first, then once a minute. */
export function nextLook(payment: Payment, now: Date): Date | null {
  if (!isUnresolved(payment.state)) return watchAt(payment, now)
  return new Date(now.getTime() + Math.min(RETRY_MS * 2 ** payment.looks, RETRY_MS_MAX))
}
