import { runOperation } from '../graphql/graphql-client.ts'
import { AuthenticationError } from '../errors.ts'
import { REVOKE_WALLET_SESSION, SIGN_IN_WITH_WALLET } from '../graphql/operations.ts'
import type { Transport } from '../http/transport.ts'

/** A session is renewed this long before it ends. */
const MARGIN_MS = 60_000

/** GraphQL knows a wallet by a session, which one signature opens. */
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

  /** The token for `Authorization: Bearer`; calls at the same time share one signature. */
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

  /** Ends the session, if there is one, for whoever has its token; the next call opens another. */
  async revoke(): Promise<void> {
    const token = this.#token
    if (token === undefined) return
    const operation = { document: REVOKE_WALLET_SESSION, variables: { sessionToken: await token } }
    // From here on: live data that goes on must not come back with what is being ended.
    this.#token = undefined
    try {
      await runOperation(this.#transport, operation, undefined)
    } catch (error) {
      // It had ended before.
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
