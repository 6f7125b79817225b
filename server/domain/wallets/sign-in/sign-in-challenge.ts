import type { Clock } from '../../clock.ts'
import type { IdSource } from '../../ids.ts'
import { EVM_CAIP, SOLANA_CAIP } from './sign-in-chain.ts'
import { linkResource, linkStatement } from './sign-in-purpose.ts'

const VALID_MS = 300_000

/** A message for a wallet to sign; `info` is in the form of x402's sign-in extension. */
export interface SignInChallenge {
  info: {
    domain: string
    uri: string
    version: '1'
    nonce: string
    issuedAt: string
    expirationTime: string
    statement: string
    resources: string[]
  }
  supportedChains: { chainId: string; type: 'eip191' | 'eip1271' | 'ed25519' }[]
}

export interface SignInChallengesDeps {
  origin: string
  serviceName: string
  contractWallets: boolean
  clock: Clock
  ids: IdSource
}

/** Creates messages to sign. Nothing is stored: a wallet may also compose its own message with its own nonce. */
export class SignInChallenges {
  readonly #deps: SignInChallengesDeps

  constructor(deps: SignInChallengesDeps) {
    this.#deps = deps
  }

  createLink(accountId: string): SignInChallenge {
    const { origin, serviceName } = this.#deps
    const challenge = this.create('/graphql')
    const statement = `${linkStatement(accountId)} of ${serviceName}: it will use and pay into that account, and its balance moves there`
    const resources = [linkResource(origin, accountId)]
    return { ...challenge, info: { ...challenge.info, statement, resources } }
  }

  /** `path` is the path of the resource to call, such as `/api/v1/chat/completions`. */
  create(path: string): SignInChallenge {
    const { origin, serviceName, contractWallets, clock, ids } = this.#deps
    const uri = origin + path
    return {
      info: {
        domain: new URL(origin).host,
        uri,
        version: '1',
        nonce: ids.base62(32),
        issuedAt: clock.now().toISOString(),
        expirationTime: new Date(clock.nowMs() + VALID_MS).toISOString(),
        statement: `Sign in to ${serviceName}`,
        resources: [uri],
      },
      supportedChains: [
        { chainId: EVM_CAIP, type: 'eip191' },
        ...(contractWallets ? [{ chainId: EVM_CAIP, type: 'eip1271' } as const] : []),
        { chainId: SOLANA_CAIP, type: 'ed25519' },
      ],
    }
  }
}
