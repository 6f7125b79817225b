import { createHash } from 'node:crypto'
import { DomainError } from '../errors.ts'

const KEY_FORM = /^[A-Za-z0-9_-]{1,255}$/

/** The value of an `Idempotency-Key` header (specification, Idempotency rules). Fails with `invalid_request`. */
export function parseIdempotencyKey(text: string): string {
  if (KEY_FORM.test(text)) return text
  throw new DomainError(
    'invalid_request',
    `Idempotency-Key must be 1 to 255 characters of A-Z, a-z, 0-9, "_" and "-"; this one has ${text.length} characters`,
    { field: 'Idempotency-Key' },
  )
}

/** What two requests must share to be the same: method, path and the body's exact bytes. */
export function fingerprintOf({ method, path, body }: { method: string; path: string; body: Buffer }): Buffer {
  return createHash('sha256').update(`${method}\n${path}\n`).update(body).digest()
}
