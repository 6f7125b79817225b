import { createHmac } from 'node:crypto'
import { z } from 'zod'
import type { WalletCaller } from '../../caller.ts'
import type { Clock } from '../../clock.ts'
import { DomainError } from '../../errors.ts'
import type { IdSource } from '../../ids.ts'
import type { KeyEvents } from '../../key-events.ts'
import { accountIdOf } from '../wallet-account-id.ts'
import type { WalletAccounts } from '../wallet-accounts.ts'
import type { WalletAddress } from '../wallet-address.ts'
import type { WalletSessionRepository } from './wallet-session-repository.ts'

const AUDIENCE = 'graphql'
const ALGORITHM = 'HS256'
/** Three parts separated by dots, unlike any API key. */
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
 * Sessions of signed-in wallets, for clients that cannot sign each request. A token is signed and self-contained, so only
 * revoked sessions are stored.
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

  /**
   * Returns the wallet and the expiry of a token. Fails with `unauthenticated`, or with `forbidden` while the account is
   * suspended.
   */
  async open(token: string): Promise<WalletSession> {
    const { accounts, repository } = this.#deps
    const { sessionId, wallet, expiresAt } = await this.#read(token)
    if (await repository.isRevoked(sessionId)) throw ended()
    return { caller: await accounts.callerOf(wallet), expiresAt }
  }

  /**
   * Revokes a session in every process and returns its wallet; repeating it has no effect. Anyone with the token may
   * revoke it. Fails with `unauthenticated`.
   */
  async revoke(token: string): Promise<WalletAddress> {
    const { repository, events } = this.#deps
    const { sessionId, wallet, expiresAt } = await this.#read(token)
    await repository.revoke(sessionId, expiresAt)
    // Makes open streams of the wallet check whether their own session is still valid.
    events.announce({ kind: 'account-changed', id: accountIdOf(wallet) })
    return wallet
  }

  /** An expired token needs no row. */
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
