import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Seals answers for the database, since some hold secrets: AES-256-GCM under a key that is derived from the pepper. */
export class BodyVault {
  readonly #key: Buffer

  constructor(pepper: string) {
    this.#key = Buffer.from(hkdfSync('sha256', pepper, '', 'idempotency bodies', KEY_BYTES))
  }

  /** `place` says where the bytes belong; they open nowhere else. */
  seal(plain: Uint8Array, place: string): Buffer {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(CIPHER, this.#key, nonce).setAAD(Buffer.from(place))
    return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
  }

  /** Throws when the bytes were changed, moved, or sealed under another pepper. */
  open(sealed: Uint8Array, place: string): Buffer {
    const end = sealed.length - TAG_BYTES
    const decipher = createDecipheriv(CIPHER, this.#key, sealed.subarray(0, NONCE_BYTES))
      .setAAD(Buffer.from(place))
      .setAuthTag(sealed.subarray(end))
    const plain = decipher.update(sealed.subarray(NONCE_BYTES, end))
    // Checks the tag; this mode holds no bytes back.
    decipher.final()
    return plain
  }
}
