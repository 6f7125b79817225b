import { assertChainInText } from './sign-in-chain.ts'
import { signInRefused } from './sign-in-error.ts'
import type { SignInMessage } from './sign-in-message.ts'

/** How long after `Issued At` a sign-in is accepted. */
const WINDOW_MS = 300_000
const SKEW_MS = 30_000
/** Covers the clock difference between processes, and the time of the checks before the nonce is claimed. */
const MARGIN_MS = 60_000
/** A nonce is kept until no process can accept a sign-in that contains it. */
export const NONCE_KEPT_MS = WINDOW_MS + SKEW_MS + MARGIN_MS

const NONCE = /^[A-Za-z0-9]{8,128}$/
const RFC_3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/

export interface SignInBinding {
  /** From the configuration, never from a request's Host header. */
  origin: string
  nowMs: number
}

/**
 * Checks that a message is for this service, its chains and the current time; cheap, so it runs before any cryptography.
 * Returns the nonce.
 */
export function checkSignInMessage(message: SignInMessage, binding: SignInBinding): string {
  const { origin } = binding
  const host = new URL(origin).host
  if (message.domain !== host && message.domain !== origin) {
    throw signInRefused('DOMAIN_MISMATCH', `it was signed for the domain ${shown(message.domain)}; sign for ${host}`)
  }
  if (URL.parse(message.uri)?.origin !== origin) {
    throw signInRefused(
      'DOMAIN_MISMATCH',
      `its URI ${shown(message.uri)} does not belong to this service; sign for ${origin}`,
    )
  }
  if (message.version !== '1') throw signInRefused('INVALID_MESSAGE', 'Version must be 1')
  assertChainInText(message.chain, message.chainId)
  if (message.nonce === undefined || message.nonce === '') {
    throw signInRefused('MISSING_NONCE', 'the nonce is missing; sign with a new nonce of 8 to 128 letters and digits')
  }
  if (!NONCE.test(message.nonce)) {
    throw signInRefused('INVALID_MESSAGE', 'the nonce must be 8 to 128 letters and digits')
  }
  checkTimes(message, binding)
  return message.nonce
}

/** The timestamp next to the signed text is unsigned, so it must equal the one in the text. */
export function checkTimestamp(message: SignInMessage, timestampMs: number | null): void {
  if (timestampMs === null) return
  if (Math.abs(timestampMs - instant(message.issuedAt, 'Issued At')) <= SKEW_MS) return
  throw signInRefused('TIMESTAMP_MISMATCH', 'timestamp is more than 30 s away from Issued At in the signed text')
}

function checkTimes(message: SignInMessage, { nowMs }: SignInBinding): void {
  const issuedAtMs = instant(message.issuedAt, 'Issued At')
  if (issuedAtMs - nowMs > SKEW_MS) {
    throw signInRefused('FUTURE_TIMESTAMP', "Issued At is more than 30 s in the future; correct the wallet's clock")
  }
  if (nowMs - issuedAtMs > WINDOW_MS) {
    throw signInRefused('EXPIRED', 'Issued At is more than 5 minutes ago; sign again')
  }
  if (message.expirationTime !== undefined && instant(message.expirationTime, 'Expiration Time') <= nowMs) {
    throw signInRefused('EXPIRED', 'its Expiration Time has passed; sign again')
  }
  if (message.notBefore !== undefined && instant(message.notBefore, 'Not Before') - nowMs > SKEW_MS) {
    throw signInRefused('NOT_BEFORE', 'its Not Before time has not been reached yet')
  }
}

function instant(text: string, field: string): number {
  const ms = RFC_3339.test(text) ? Date.parse(text) : Number.NaN
  if (!Number.isNaN(ms)) return ms
  throw signInRefused('INVALID_MESSAGE', `${field} must be an RFC 3339 time, such as 2026-01-31T12:00:00Z`)
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, 100))
}
