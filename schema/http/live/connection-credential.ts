import { DomainError, type DomainErrorCode } from '../../../server/domain/errors.ts'
import type { Services } from '../../../server/domain/services.ts'
import type { Identity } from '../../credentials.ts'

/** For wallets' sessions, and after a failed check; keys are rechecked together. */
const CHECK_AGAIN_MS = 15_000
/** The maximum delay of a timer. */
const TIMER_MS_MAX = 2 ** 31 - 1

/** A credential that has ended, and one whose account is suspended. */
const ENDING_CODES: ReadonlySet<DomainErrorCode> = new Set(['unauthenticated', 'forbidden'])

export interface WatchedCredential {
  identity: Identity
  services: Pick<Services, 'access' | 'wallets' | 'clock' | 'log'>
  /** Called once, with the reason as text. */
  onEnd: (reason: string) => void
}

/**
 * Watches a key or a wallet's session whose connection outlives its first request, and reports when it expires, is
 * revoked or gets an expiry in the past.
 */
export class ConnectionCredential {
  readonly #watched: WatchedCredential
  readonly #stopListening: (() => void)[]
  #timer: NodeJS.Timeout | undefined
  #checks = 0
  #over = false

  constructor(watched: WatchedCredential) {
    this.#watched = watched
    this.#stopListening = this.#listen()
    // The credential may have ended between its authentication and the listeners above.
    void this.#check()
  }

  stop(): void {
    this.#over = true
    clearTimeout(this.#timer)
    for (const stopListening of this.#stopListening) stopListening()
  }

  #listen(): (() => void)[] {
    const { identity, services } = this.#watched
    const { caller } = identity
    const check = (): void => void this.#check()
    // A message that a credential has ended may be lost, and all of them are lost while Redis is away.
    const unwatch = services.access.credentialWatch.watch(caller, check)
    if (caller.kind === 'wallet') return [unwatch, services.wallets.accounts.onChanged(caller, check)]
    return [
      unwatch,
      services.access.auth.onRevoked(caller.keyId, () => this.#end('API key revoked')),
      services.access.auth.onChanged(caller.keyId, check),
    ]
  }

  async #check(): Promise<void> {
    const { identity, services } = this.#watched
    const check = ++this.#checks
    let endsAt: Date | null = null
    let againMs = identity.caller.kind === 'key' ? TIMER_MS_MAX : CHECK_AGAIN_MS
    try {
      endsAt = await identity.check()
    } catch (error) {
      if (error instanceof DomainError && ENDING_CODES.has(error.code)) return this.#end(error.message)
      services.log.warn('the credential of an open connection could not be checked', { error })
      againMs = CHECK_AGAIN_MS
    }
    // A later check is newer, even if it finished first.
    if (this.#over || check !== this.#checks) return
    if (endsAt !== null) againMs = Math.min(againMs, Math.max(1, endsAt.getTime() - services.clock.nowMs()))
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#check(), againMs)
  }

  #end(reason: string): void {
    if (this.#over) return
    this.stop()
    this.#watched.onEnd(reason)
  }
}
