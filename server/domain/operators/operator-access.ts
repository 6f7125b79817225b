import { createHash, timingSafeEqual } from 'node:crypto'
import { DomainError } from '../errors.ts'
import type { AbuseGuard } from '../rate-limits/abuse-guard.ts'

/** One operator: the token grants access, and the name goes to the audit log. */
export interface Operator {
  name: string
  token: string
}

export interface OperatorAccessDeps {
  operators: readonly Operator[]
  abuseGuard: Pick<AbuseGuard, 'assertNotBlocked' | 'recordFailure'>
}

const BEARER = /^Bearer +(\S+)\s*$/i

/**
 * Authenticates operators. An address that sent too many wrong tokens is rejected even with the right one, because
 * otherwise the block would not stop guessing. Wrong API keys from the same address do not count here.
 */
export class OperatorAccess {
  readonly #operators: readonly { name: string; digest: Buffer }[]
  readonly #abuseGuard: OperatorAccessDeps['abuseGuard']

  constructor({ operators, abuseGuard }: OperatorAccessDeps) {
    this.#operators = operators.map(({ name, token }) => ({ name, digest: digest(token) }))
    this.#abuseGuard = abuseGuard
  }

  /** Returns the operator's name. Fails with `unauthenticated`, or with `abuse_blocked` after too many wrong tokens. */
  identify(authorization: string | undefined, address: string): string {
    const subject = `operator-ip:${address}`
    this.#abuseGuard.assertNotBlocked(subject)
    const token = BEARER.exec(authorization ?? '')?.[1]
    const name = token === undefined ? undefined : this.#nameOf(token)
    if (name !== undefined) return name
    if (token !== undefined) this.#abuseGuard.recordFailure(subject)
    throw new DomainError(
      'unauthenticated',
      'Authentication failed: send the header "Authorization: Bearer <operator token>"',
    )
  }

  /**
   * Compares with every token, by digests of equal length, so that timing reveals neither a token, nor its length, nor
   * its owner.
   */
  #nameOf(token: string): string | undefined {
    const sent = digest(token)
    let name: string | undefined
    for (const operator of this.#operators) if (timingSafeEqual(operator.digest, sent)) name = operator.name
    return name
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
