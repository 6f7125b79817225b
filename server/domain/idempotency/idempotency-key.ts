import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { DomainError } from '../errors.ts'

const HASHED_AT_ONCE_BYTES = 1024 * 1024
const KEY_FORM = /^[A-Za-z0-9_-]{1,255}$/

/** Parses an `Idempotency-Key` header. Fails with `invalid_request`. */
export function parseIdempotencyKey(text: string): string {
  if (KEY_FORM.test(text)) return text
  throw new DomainError(
    'invalid_request',
    `Idempotency-Key must have 1 to 255 characters of A-Z, a-z, 0-9, "_" and "-"; it has ${text.length} characters`,
    { field: 'Idempotency-Key' },
  )
}

/** Identifies equal requests: same method, path and exact body bytes. */
export async function fingerprintOf(request: { method: string; path: string; body: Buffer }): Promise<Buffer> {
  const { method, path, body } = request
  const hash = createHash('sha256').update(`${method}\n${path}\n`)
  for (let start = 0; start < body.length; start += HASHED_AT_ONCE_BYTES) {
    // Other requests run between two slices of a large body.
    if (start > 0) await setImmediate()
    hash.update(body.subarray(start, start + HASHED_AT_ONCE_BYTES))
  }
  return hash.digest()
}
