import { type Authorize, Transport } from '../http/transport.ts'
import type { ClientOptions } from '../options.ts'
import { createSignIn } from './sign-in.ts'
import { WalletSession } from './wallet-session.ts'

export interface Credentials {
  authorize: Authorize
  /** For GraphQL's sockets: the key, or the session of the wallet; empty if there is neither. */
  token: () => Promise<string>
  /** Ends the wallet's session; keys have none. */
  signOut: () => Promise<void>
}

/**
 * The credentials of a client: a key everywhere, or a wallet with a signature for each REST request and a session for
 * GraphQL.
 */
export function createCredentials(options: ClientOptions): Credentials {
  const { apiKey, wallet } = options
  if (apiKey !== undefined || wallet === undefined) {
    const token = async (): Promise<string> => (typeof apiKey === 'function' ? apiKey() : (apiKey ?? ''))
    const authorize: Authorize = async (headers) => {
      if (apiKey !== undefined) headers.set('authorization', `Bearer ${await token()}`)
    }
    return { authorize, token, signOut: async () => {} }
  }
  const sign = (): Promise<string> => createSignIn(wallet, options.publicUrl ?? options.baseUrl)
  const session = new WalletSession(new Transport(options, async () => {}), sign)
  const authorize: Authorize = async (headers, { path, isPublic }) => {
    if (path === '/graphql') headers.set('authorization', `Bearer ${await session.token()}`)
    else if (isPublic !== true) headers.set('sign-in-with-x', await sign())
  }
  return { authorize, token: () => session.token(), signOut: () => session.revoke() }
}
