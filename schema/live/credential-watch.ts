import type { KeyCaller } from '../../server/domain/auth/caller.ts'
import { DomainError } from '../../server/domain/errors.ts'
import type { Services } from '../../server/domain/services.ts'
import { type Credential, readSecret } from '../credentials.ts'

/** Timers take no more; a key that expires later is looked at again by then. */
const TIMER_MS_MAX = 2 ** 31 - 1

export interface WatchedCredential {
  credential: Credential
  caller: KeyCaller
  services: Pick<Services, 'auth' | 'clock' | 'log'>
  /** Called once, with the reason in words. */
  onEnd: (reason: string) => void
}

/** Follows a key whose connection outlives the request that opened it: says when it expires, is revoked or is changed to have expired. */
export class CredentialWatch {
  readonly #watched: WatchedCredential
  readonly #stopListening: (() => void)[]
  #timer: NodeJS.Timeout | undefined
  #over = false

  constructor(watched: WatchedCredential) {
    this.#watched = watched
    const { auth } = watched.services
    const { keyId } = watched.caller
    this.#stopListening = [
      auth.onRevoked(keyId, () => this.#end('API key revoked')),
      auth.onChanged(keyId, () => void this.#check()),
    ]
    // The key may have ended between its authentication and the listeners above.
    void this.#check()
  }

  stop(): void {
    this.#over = true
    clearTimeout(this.#timer)
    for (const stopListening of this.#stopListening) stopListening()
  }

  async #check(): Promise<void> {
    const { credential, services } = this.#watched
    try {
      const { expiresAt } = await services.auth.authenticateKey(readSecret(credential.authorization))
      if (!this.#over) this.#checkAgainAt(expiresAt)
    } catch (error) {
      if (error instanceof DomainError && error.code === 'unauthenticated') this.#end(error.message)
      else services.log.warn('the key of an open connection could not be checked', { error })
    }
  }

  #checkAgainAt(expiresAt: Date | null): void {
    clearTimeout(this.#timer)
    if (expiresAt === null) return
    const delayMs = Math.max(1, expiresAt.getTime() - this.#watched.services.clock.nowMs())
    this.#timer = setTimeout(() => void this.#check(), Math.min(delayMs, TIMER_MS_MAX))
  }

  #end(reason: string): void {
    if (this.#over) return
    this.stop()
    this.#watched.onEnd(reason)
  }
}
