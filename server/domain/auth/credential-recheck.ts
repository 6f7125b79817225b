import type { ApiKeyRepository } from '../api-keys/api-key-repository.ts'
import type { KeyEvents } from '../api-keys/key-events.ts'
import type { Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import type { PubSub } from '../pub-sub.ts'
import type { Caller } from './caller.ts'

/** A connection ends within 5 seconds of its credential, which leaves the database time to respond. */
const CHECK_EVERY_MS = 3_000

export interface CredentialRecheckDeps {
  repository: Pick<ApiKeyRepository, 'listEnded'>
  events: KeyEvents
  pubSub: Pick<PubSub, 'onResumed'>
  clock: Clock
  log: Log
}

/**
 * Finds the keys and accounts behind open connections that have ended without a message saying so, for example while
 * Redis was lost: with one statement for all of them, every few seconds and as soon as messages flow again.
 */
export class CredentialRecheck {
  readonly #deps: CredentialRecheckDeps
  readonly #watched = new Set<{ accountId: string; keyId: string | null }>()
  #timer: NodeJS.Timeout | undefined
  #running = false

  constructor(deps: CredentialRecheckDeps) {
    this.#deps = deps
    deps.pubSub.onResumed(() => void this.#run())
  }

  /** Checks the caller's key, or a wallet's account, until the returned function is called. */
  watch({ accountId, keyId }: Pick<Caller, 'accountId' | 'keyId'>): () => void {
    const watched = { accountId, keyId }
    this.#watched.add(watched)
    this.#timer ??= setInterval(() => void this.#run(), CHECK_EVERY_MS).unref()
    return () => {
      this.#watched.delete(watched)
      if (this.#watched.size === 0) this.close()
    }
  }

  close(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  async #run(): Promise<void> {
    if (this.#running || this.#watched.size === 0) return
    this.#running = true
    try {
      const ended = await this.#deps.repository.listEnded([...this.#watched], this.#deps.clock.now())
      for (const event of ended) this.#deps.events.repeat(event)
    } catch (error) {
      this.#deps.log.warn('the credentials of open connections could not be checked; they are checked again', { error })
    } finally {
      this.#running = false
    }
  }
}
