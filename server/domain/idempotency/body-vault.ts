import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Encrypts responses for the database, since some contain secrets: AES-256-GCM with a key derived from the pepper. */
export class BodyVault {
  readonly #key: Buffer

  constructor(pepper: string) {
    this.#key = Buffer.from(hkdfSync('sha256', pepper, '', 'idempotency bodies', KEY_BYTES))
  }

  /** `place` identifies where the bytes belong; they cannot be opened anywhere else. */
  seal(plain: Uint8Array, place: string): Buffer {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(CIPHER, this.#key, nonce).setAAD(Buffer.from(place))
    return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
  }

  /** Throws if the bytes were changed, moved, or sealed with another pepper. */
  open(sealed: Uint8Array, place: string): Buffer {
    const end = sealed.length - TAG_BYTES
    const decipher = createDecipheriv(CIPHER, this.#key, sealed.subarray(0, NONCE_BYTES))
      .setAAD(Buffer.from(place))
      .setAuthTag(sealed.subarray(end))
    const plain = decipher.update(sealed.subarray(NONCE_BYTES, end))
    // Checks the tag; in this mode no bytes are buffered.
    decipher.final()
    return plain
  }
}
