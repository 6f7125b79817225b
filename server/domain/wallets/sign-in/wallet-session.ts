import { createHmac } from 'node:crypto'
import { z } from 'zod'
import type { WalletCaller } from '../../auth/caller.ts'
import type { Clock } from '../../clock.ts'
import { DomainError } from '../../errors.ts'
import type { IdSource } from '../../ids.ts'
import type { WalletAccounts } from '../wallet-accounts.ts'

const AUDIENCE = 'graphql'
const ALGORITHM = 'HS256'
/** Three parts with dots; no API key looks like it. */
const TOKEN = /^[\w-]{1,200}\.[\w-]{1,1000}\.[\w-]{43}$/

const Claims = z.object({ chain: z.enum(['evm', 'solana']), sub: z.string(), exp: z.number() })

export interface WalletSession {
  caller: WalletCaller
  expiresAt: Date
}

export interface WalletSessionsDependencies {
  origin: string
  pepper: string
  lifetimeSeconds: number
  accounts: Pick<WalletAccounts, 'callerOf'>
  clock: Clock
  ids: IdSource
}

/**
 * Sessions of wallets that signed in, for clients that cannot sign each request. A token is signed and holds everything
 * there is to know, so none is stored; it ends by its time alone.
 */
export class WalletSessions {
  readonly #deps: WalletSessionsDependencies
  readonly #key: Buffer

  constructor(deps: WalletSessionsDependencies) {
    this.#deps = deps
    this.#key = createHmac('sha256', deps.pepper).update('wallet sessions').digest()
  }

  static looksLikeToken(text: string): boolean {
    return TOKEN.test(text)
  }

  /** When a session that begins now ends. */
  expiry(): Date {
    const nowSeconds = Math.floor(this.#deps.clock.nowMs() / 1_000)
    return new Date((nowSeconds + this.#deps.lifetimeSeconds) * 1_000)
  }

  async issue(caller: WalletCaller): Promise<{ sessionToken: string; expiresAt: Date }> {
    const { SignJWT } = await import('jose')
    const expiresAt = this.expiry()
    const sessionToken = await new SignJWT({ chain: caller.walletChain })
      .setProtectedHeader({ alg: ALGORITHM })
      .setSubject(caller.walletAddress)
      .setIssuer(this.#deps.origin)
      .setAudience(AUDIENCE)
      .setIssuedAt(this.#deps.clock.now())
      .setExpirationTime(expiresAt)
      .setJti(this.#deps.ids.uuid())
      .sign(this.#key)
    return { sessionToken, expiresAt }
  }

  /** Who a token stands for, and until when. Fails with `unauthenticated`, or `forbidden` while the account is suspended. */
  async open(token: string): Promise<WalletSession> {
    const { jwtVerify } = await import('jose')
    const { origin, clock, accounts } = this.#deps
    const options = { algorithms: [ALGORITHM], issuer: origin, audience: AUDIENCE, currentDate: clock.now() }
    const claims = await jwtVerify(token, this.#key, options).then(
      ({ payload }) => Claims.parse(payload),
      () => {
        throw new DomainError('unauthenticated', 'The wallet session is not valid or has ended; sign in again')
      },
    )
    const caller = await accounts.callerOf({ chain: claims.chain, address: claims.sub })
    return { caller, expiresAt: new Date(claims.exp * 1_000) }
  }
}
