import { isUnresolved, type Payment } from './payment.ts'

/** A run renews its lease well before this; another process takes over the payments of a dead one after it. */
const LEASE_MS = 15_000
/** This long after a payment's expiry, no reorganization can bring it back. */
export const EXPIRY_MARGIN_MS = 120_000
const WATCH_MS_MAX = 86_400_000
const WATCH_DAYS_MAX = 30
const RETRY_MS = 5_000
const RETRY_MS_MAX = 60_000
/** After this many checks, about seven minutes, the payer's signature is not checked again. */
export const UNVERIFIED_CHECKS_MAX = 8
const RECHECK_MS = 60_000
const RECHECK_MS_MAX = 3_600_000
/** Limits how long an unresponsive node can keep a payment in the queue. */
const RECHECKS_MAX = 40

/** When the lease of the run that works on a payment ends. */
export function leaseEnd(now: Date): Date {
  return new Date(now.getTime() + LEASE_MS)
}

/**
 * When to check whether somebody else paid a payment that we refused or failed to settle: at its expiry, or daily until
 * then. Null after a month; a repeat by the payer would still find it.
 */
export function nextWatchAt({ signed, receivedAt }: Payment, now: Date): Date | null {
  if (now.getTime() - receivedAt.getTime() > WATCH_DAYS_MAX * WATCH_MS_MAX) return null
  const endMs = (signed.validUntil?.getTime() ?? now.getTime()) + EXPIRY_MARGIN_MS
  const soonestMs = now.getTime() + RETRY_MS_MAX
  return new Date(Math.max(soonestMs, Math.min(endMs, now.getTime() + WATCH_MS_MAX)))
}

/** When the reconciler checks an unfinished payment again: soon at first, then once a minute. */
export function nextCheckAt(payment: Payment, now: Date): Date | null {
  if (!isUnresolved(payment.state)) return nextWatchAt(payment, now)
  return new Date(now.getTime() + Math.min(RETRY_MS * 2 ** payment.looks, RETRY_MS_MAX))
}

/** When to check that the chain still shows a credited transfer: after a minute, then at growing intervals. */
export function nextRecheck({ rechecks }: Payment, now: Date): Date | null {
  if (rechecks >= RECHECKS_MAX) return null
  return new Date(now.getTime() + Math.min(RECHECK_MS * 2 ** Math.max(0, rechecks - 1), RECHECK_MS_MAX))
}
