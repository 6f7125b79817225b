import { ApiError, ConnectionError, type SluiceError, TimeoutError } from '../errors.ts'
import { wasNeverSent } from './attempt.ts'

const DELAY_MS_MIN = 500
const DELAY_MS_MAX = 8_000
/** Up to this share of a delay is random, so clients that failed together do not return together. */
const JITTER = 0.25
/** A caller gets the error if the service requests a longer wait. */
const ASKED_SECONDS_MAX = 60

/**
 * The effect of a repeat. `safe`: a read. `keyed`: the service executes it once per idempotency key. `keyed_write`:
 * also keyed, but an upstream may have executed an attempt that failed. `unsafe`: it would be executed twice.
 */
export type Repeat = 'safe' | 'keyed' | 'keyed_write' | 'unsafe'

/** Responses which mean that nothing was done and a retry is welcome. */
const REFUSED = new Set([429, 503])
const FAILED = new Set([408, 500, 502, 504])

/** The wait before the next attempt; undefined: do not retry. */
export function retryDelayMs(error: SluiceError, repeat: Repeat, retries: number): number | undefined {
  if (!mayRepeat(error, repeat)) return undefined
  const askedSeconds = error instanceof ApiError ? error.retryAfterSeconds : null
  if (askedSeconds === null) return backOffMs(retries)
  // Never earlier than requested.
  return askedSeconds > ASKED_SECONDS_MAX ? undefined : askedSeconds * 1_000 + DELAY_MS_MIN * JITTER * Math.random()
}

/** Doubles from half a second to eight, minus the random share. */
export function backOffMs(retries: number): number {
  return Math.min(DELAY_MS_MAX, DELAY_MS_MIN * 2 ** retries) * (1 - JITTER * Math.random())
}

function mayRepeat(error: SluiceError, repeat: Repeat): boolean {
  if (error instanceof ApiError) {
    // A failure inside a GraphQL response says nothing about the rest of the operation.
    const status = repeat === 'unsafe' ? (error.response?.status ?? 0) : error.status
    return REFUSED.has(status) || (FAILED.has(status) && (repeat === 'safe' || repeat === 'keyed'))
  }
  if (error instanceof TimeoutError) return repeat !== 'unsafe'
  return error instanceof ConnectionError && (repeat !== 'unsafe' || wasNeverSent(error))
}
