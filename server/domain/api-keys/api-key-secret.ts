import { createHmac } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { ApiKeyType } from '../caller.ts'
import type { IdSource } from '../ids.ts'

const MARKS = { INFERENCE: 'inf', ADMIN: 'adm' } as const satisfies Record<ApiKeyType, string>
const RANDOM_CHARACTERS = 32
const CHECKSUM_CHARACTERS = 6
const PREFIX_CHARACTERS_MAX = 32
const SECRET_FORM = /^[a-z0-9]{1,32}_(inf|adm)_[0-9A-Za-z]{38}$/
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** The prefix of this service's keys: the letters and digits of the wire name. */
export function toKeyPrefix(serviceName: string): string {
  const letters = serviceName.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
  return letters.slice(0, PREFIX_CHARACTERS_MAX) || 'service'
}

/** Creates a secret: `<prefix>_inf_` or `<prefix>_adm_`, 32 random base62 characters (190 bits), 6 of their CRC32. */
export function createApiKeySecret(type: ApiKeyType, { prefix, ids }: { prefix: string; ids: IdSource }): string {
  const body = `${prefix}_${MARKS[type]}_${ids.base62(RANDOM_CHARACTERS)}`
  return body + checksum(body)
}

/**
 * The type of a well-formed secret; undefined if its form or checksum is wrong, so that it needs no database query. Any
 * prefix is accepted, so that keys survive a change of the service's name.
 */
export function parseApiKeySecret(text: string): ApiKeyType | undefined {
  const mark = SECRET_FORM.exec(text)?.[1]
  if (mark === undefined) return undefined
  const body = text.slice(0, -CHECKSUM_CHARACTERS)
  if (checksum(body) !== text.slice(-CHECKSUM_CHARACTERS)) return undefined
  return mark === MARKS.ADMIN ? 'ADMIN' : 'INFERENCE'
}

/** The stored hash of a secret. A slow password hash is unnecessary for 190 random bits. */
export function hashApiKeySecret(secret: string, pepper: string): string {
  return createHmac('sha256', pepper).update(secret).digest('hex')
}

function checksum(body: string): string {
  let rest = crc32(body)
  let text = ''
  for (let digit = 0; digit < CHECKSUM_CHARACTERS; digit += 1) {
    text = BASE62.charAt(rest % 62) + text
    rest = Math.floor(rest / 62)
  }
  return text
}
