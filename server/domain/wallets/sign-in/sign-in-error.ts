import { DomainError } from '../../errors.ts'

/** Why a sign-in is rejected; on the wire `X402_SIGN_IN_<code>`. */
export type SignInFailure =
  | 'INVALID_PAYLOAD'
  | 'PARSE_ERROR'
  | 'INVALID_MESSAGE'
  | 'ADDRESS_MISMATCH'
  | 'INVALID_CHAIN_ID'
  | 'CHAIN_MISMATCH'
  | 'UNSUPPORTED_CHAIN'
  | 'MISSING_NONCE'
  | 'DOMAIN_MISMATCH'
  | 'TIMESTAMP_MISMATCH'
  | 'EXPIRED'
  | 'FUTURE_TIMESTAMP'
  | 'NOT_BEFORE'
  | 'INVALID_SIGNATURE'
  | 'INVALID_WALLET'
  | 'NONCE_REUSED'

/** The message begins with the text that existing clients expect. */
export function signInRefused(failure: SignInFailure, reason: string): DomainError {
  return new DomainError('sign_in_refused', `Invalid Sign-in-with-x signature: ${reason}`, {
    publicCode: `X402_SIGN_IN_${failure}`,
  })
}
