import { createHmac } from 'node:crypto'
import type { Clock } from '../clock.ts'
import type { DomainError } from '../errors.ts'
import type { IdSource } from '../ids.ts'
import { invalidField } from '../validation/parse-input.ts'

const AUDIENCE = 'web3-key'
const ALGORITHM = 'HS256'
export const WEB3_TOKEN_SECONDS = 900
const CHARACTERS_MAX = 1_000

/** The message that existing clients expect for each token error, by the library's error code. */
const REFUSALS: Record<string, string> = {
  ERR_JWT_EXPIRED: 'JWT has expired: a token is valid for 15 minutes',
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 'JWT signature is invalid: the token was not issued by this service',
  ERR_JOSE_ALG_NOT_ALLOWED: 'JWT signature is invalid: the token was not issued by this service',
  ERR_JWT_CLAIM_VALIDATION_FAILED: 'JWT claims are invalid: the token was issued for something else',
}

export interface Web3KeyTokensDeps {
  origin: string
  pepper: string
  clock: Clock
  ids: IdSource
}

/** Tokens that a wallet signs to get an API key. They are self-contained, so none is stored. */
export class Web3KeyTokens {
  readonly #deps: Web3KeyTokensDeps
  readonly #key: Buffer

  constructor(deps: Web3KeyTokensDeps) {
    this.#deps = deps
    this.#key = createHmac('sha256', deps.pepper).update('web3 key tokens').digest()
  }

  async issue(): Promise<string> {
    const { SignJWT } = await import('jose')
    const { origin, clock, ids } = this.#deps
    const issuedAt = Math.floor(clock.nowMs() / 1_000)
    return new SignJWT()
      .setProtectedHeader({ alg: ALGORITHM })
      .setIssuer(origin)
      .setAudience(AUDIENCE)
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + WEB3_TOKEN_SECONDS)
      .setJti(ids.uuid())
      .sign(this.#key)
  }

  /** Returns the token's id. Fails with `invalid_request` and the message that existing clients expect. */
  async read(token: string): Promise<string> {
    if (token.length > CHARACTERS_MAX) throw malformed()
    const { jwtVerify } = await import('jose')
    const { origin, clock } = this.#deps
    try {
      const { payload } = await jwtVerify(token, this.#key, {
        algorithms: [ALGORITHM],
        issuer: origin,
        audience: AUDIENCE,
        currentDate: clock.now(),
        requiredClaims: ['jti', 'iat', 'exp'],
      })
      return payload.jti ?? ''
    } catch (error) {
      const refusal = error instanceof Error && 'code' in error ? REFUSALS[String(error.code)] : undefined
      throw refusal === undefined ? malformed() : invalidField('token', refusal)
    }
  }
}

function malformed(): DomainError {
  return invalidField('token', 'JWT is malformed: send the unchanged token of GET /api/v1/api_keys/generate_web3_key')
}
