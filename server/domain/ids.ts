import { randomBytes } from 'node:crypto'
import type { Clock } from './clock.ts'

/** The only source of identifiers. */
export interface IdSource {
  /** UUID version 7 (RFC 9562): time-ordered, so that index pages stay warm. */
  uuid(): string
  /** 32 characters of `[0-9a-f]`: the correlation id of one request. */
  requestId(): string
  /** `length` characters of `[0-9A-Za-z]` from the system's random source. */
  base62(length: number): string
}

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const POOL_BYTES = 4096
const UUID_BYTES = 16

export function createIdSource(clock: Clock): IdSource {
  let pool = randomBytes(POOL_BYTES)
  let used = 0
  // One system call provides 256 ids; otherwise every request would need its own.
  const draw = (bytes: number): number => {
    if (used + bytes > POOL_BYTES) {
      pool = randomBytes(POOL_BYTES)
      used = 0
    }
    used += bytes
    return used - bytes
  }
  const hex = (): string => {
    const at = draw(UUID_BYTES)
    pool.writeUIntBE(clock.nowMs(), at, 6)
    pool[at + 6] = ((pool[at + 6] ?? 0) & 0x0f) | 0x70
    pool[at + 8] = ((pool[at + 8] ?? 0) & 0x3f) | 0x80
    return pool.toString('hex', at, at + UUID_BYTES)
  }
  return {
    uuid: () => toUuid(hex()),
    requestId: hex,
    base62: (length) => {
      let text = ''
      while (text.length < length) {
        // Bytes of 248 and above would make the first letters of the alphabet more likely.
        const at = draw(length)
        for (const byte of pool.subarray(at, at + length))
          if (byte < 248 && text.length < length) text += BASE62[byte % 62]
      }
      return text
    },
  }
}

/** Creation time of a time-ordered id in milliseconds; undefined if the text is not such an id. */
export function idTimeMs(hex: string): number | undefined {
  return /^[0-9a-f]{12}7[0-9a-f]{19}$/.test(hex) ? Number.parseInt(hex.slice(0, 12), 16) : undefined
}

/** The lowest id that can be created at that time. */
export function minUuidAt(timeMs: number): string {
  return timeMs.toString(16).padStart(12, '0').padEnd(32, '0')
}

/** A request id is a UUID without dashes; the database stores it as one. */
export function toUuid(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
