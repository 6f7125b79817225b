import { isUnresolved, type Payment } from './payment.ts'

/** A run renews its lease well before; what a dead process left is taken over when it ends. */
const LEASE_MS = 15_000
/** Past this much of a payment's validity no reorganisation brings it back. */
export const EXPIRY_MARGIN_MS = 120_000
const WATCH_MS_MAX = 86_400_000
const WATCH_DAYS_MAX = 30
const RETRY_MS = 5_000
const RETRY_MS_MAX = 60_000
/** Then nobody checks again whether the payer signed: about seven minutes after it came. */
export const UNVERIFIED_CHECKS_MAX = 8
const RECHECK_MS = 60_000
const RECHECK_MS_MAX = 3_600_000
/** After the last one a node that does not respond cannot keep a payment in the queue. */
const RECHECKS_MAX = 40

/** Until when a payment belongs to the run that works on it. */
export function leaseEnd(now: Date): Date {
  return new Date(now.getTime() + LEASE_MS)
}

/**
 * When to see whether somebody else paid a payment that we refused or failed to settle: at its end, or daily while that
 * is far. Null after a month; a repeat by the payer would still find it.
 */
export function nextWatchAt({ signed, receivedAt }: Payment, now: Date): Date | null {
  if (now.getTime() - receivedAt.getTime() > WATCH_DAYS_MAX * WATCH_MS_MAX) return null
  const endMs = (signed.validUntil?.getTime() ?? now.getTime()) + EXPIRY_MARGIN_MS
  const soonestMs = now.getTime() + RETRY_MS_MAX
  return new Date(Math.max(soonestMs, Math.min(endMs, now.getTime() + WATCH_MS_MAX)))
}

/** When the reconciler looks again at a payment that it could not end: soon at first, then once a minute. */
export function nextCheckAt(payment: Payment, now: Date): Date | null {
  if (!isUnresolved(payment.state)) return nextWatchAt(payment, now)
  return new Date(now.getTime() + Math.min(RETRY_MS * 2 ** payment.looks, RETRY_MS_MAX))
}

/** When to see whether the chain still shows a credited transfer: after a minute, then ever more seldom. */
export function nextRecheck({ rechecks }: Payment, now: Date): Date | null {
  if (rechecks >= RECHECKS_MAX) return null
  return new Date(now.getTime() + Math.min(RECHECK_MS * 2 ** Math.max(0, rechecks - 1), RECHECK_MS_MAX))
}
