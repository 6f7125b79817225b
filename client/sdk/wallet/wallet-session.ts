import { AuthenticationError } from '../errors.ts'
import { runOperation } from '../graphql/graphql-client.ts'
import { REVOKE_WALLET_SESSION, SIGN_IN_WITH_WALLET } from '../graphql/operations.ts'
import type { Transport } from '../http/transport.ts'

/** A session is renewed this long before it ends. */
const MARGIN_MS = 60_000

/** The session that identifies a wallet in GraphQL; one signature opens it. */
export class WalletSession {
  readonly #transport: Transport
  readonly #sign: () => Promise<string>
  #token: Promise<string> | undefined
  #renewAtMs = 0

  /** `transport` sends without a credential. */
  constructor(transport: Transport, sign: () => Promise<string>) {
    this.#transport = transport
    this.#sign = sign
  }

  /** The token for `Authorization: Bearer`; concurrent calls share one signature. */
  token(): Promise<string> {
    if (this.#token === undefined || Date.now() > this.#renewAtMs) {
      this.#renewAtMs = Number.POSITIVE_INFINITY
      this.#token = this.#open()
      this.#token.catch(() => {
        this.#token = undefined
      })
    }
    return this.#token
  }

  /** Ends the session, if there is one, for every holder of its token; the next call opens another. */
  async revoke(): Promise<void> {
    const token = this.#token
    if (token === undefined) return
    const operation = { document: REVOKE_WALLET_SESSION, variables: { sessionToken: await token } }
    // Cleared first, so continuing live data cannot reuse the session that is being ended.
    this.#token = undefined
    try {
      await runOperation(this.#transport, operation, undefined)
    } catch (error) {
      // The session had already ended.
      if (error instanceof AuthenticationError) return
      this.#token ??= token
      throw error
    }
  }

  async #open(): Promise<string> {
    const operation = { document: SIGN_IN_WITH_WALLET, variables: { payload: await this.#sign() } }
    const { signInWithWallet } = await runOperation(this.#transport, operation, undefined)
    this.#renewAtMs = Date.parse(signInWithWallet.expiresAt) - MARGIN_MS
    return signInWithWallet.sessionToken
  }
}
