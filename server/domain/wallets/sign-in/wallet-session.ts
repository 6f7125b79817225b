import { createHmac } from 'node:crypto'
import { z } from 'zod'
import type { KeyEvents } from '../../key-events.ts'
import type { WalletCaller } from '../../caller.ts'
import type { Clock } from '../../clock.ts'
import { DomainError } from '../../errors.ts'
import type { IdSource } from '../../ids.ts'
import { accountIdOf } from '../wallet-account-id.ts'
import type { WalletAccounts } from '../wallet-accounts.ts'
import type { WalletAddress } from '../wallet-address.ts'
import type { WalletSessionRepository } from './wallet-session-repository.ts'

const AUDIENCE = 'graphql'
const ALGORITHM = 'HS256'
/** Three parts with dots; no API key looks like it. */
const TOKEN = /^[\w-]{1,200}\.[\w-]{1,1000}\.[\w-]{43}$/

const Claims = z.object({ chain: z.enum(['evm', 'solana']), sub: z.string(), exp: z.number(), jti: z.uuid() })

interface SessionToken {
  sessionId: string
  wallet: WalletAddress
  expiresAt: Date
}

export interface WalletSession {
  caller: WalletCaller
  expiresAt: Date
}

export interface WalletSessionsDeps {
  origin: string
  pepper: string
  lifetimeSeconds: number
  accounts: Pick<WalletAccounts, 'callerOf'>
  repository: Pick<WalletSessionRepository, 'revoke' | 'isRevoked' | 'deleteExpired'>
  events: Pick<KeyEvents, 'announce'>
  clock: Clock
  ids: IdSource
}

/**
 * Sessions of wallets that signed in, for clients that cannot sign each request. A token is signed and holds everything
 * there is to know, so only those are stored that were revoked before their time.
 */
export class WalletSessions {
  readonly #deps: WalletSessionsDeps
  readonly #key: Buffer

  constructor(deps: WalletSessionsDeps) {
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
    const { accounts, repository } = this.#deps
    const { sessionId, wallet, expiresAt } = await this.#read(token)
    if (await repository.isRevoked(sessionId)) throw ended()
    return { caller: await accounts.callerOf(wallet), expiresAt }
  }

  /**
   * Ends the session of a token everywhere, and gives back whose it was; one that was revoked before stays so. Whoever has
   * a token may end it. Fails with `unauthenticated`.
   */
  async revoke(token: string): Promise<WalletAddress> {
    const { repository, events } = this.#deps
    const { sessionId, wallet, expiresAt } = await this.#read(token)
    await repository.revoke(sessionId, expiresAt)
    // What is open for the wallet looks again whether its own session stands.
    events.announce({ kind: 'account-changed', id: accountIdOf(wallet) })
    return wallet
  }

  /** Tokens that have expired by themselves need no row. */
  async maintain(): Promise<void> {
    await this.#deps.repository.deleteExpired(this.#deps.clock.now())
  }

  async #read(token: string): Promise<SessionToken> {
    const { jwtVerify } = await import('jose')
    const { origin, clock } = this.#deps
    const options = { algorithms: [ALGORITHM], issuer: origin, audience: AUDIENCE, currentDate: clock.now() }
    const { jti, chain, sub, exp } = await jwtVerify(token, this.#key, options)
      .then(({ payload }) => Claims.parse(payload))
      .catch(() => {
        throw ended()
      })
    return { sessionId: jti, wallet: { chain, address: sub }, expiresAt: new Date(exp * 1_000) }
  }
}

function ended(): DomainError {
  return new DomainError('unauthenticated', 'The wallet session is invalid, has expired or was revoked; sign in again')
}
