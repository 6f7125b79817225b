import type { ApiKeyRepository } from '../api-keys/api-key-repository.ts'
import type { Caller } from '../caller.ts'
import type { Clock } from '../clock.ts'
import type { KeyEvent, KeyEvents } from '../key-events.ts'
import type { Log } from '../log.ts'
import type { PubSub } from '../pub-sub.ts'

/** Streams and sockets end within 5 seconds after their credential, which leaves the database 3 seconds to respond. */
const CHECK_EVERY_MS = 2_000

interface Watched {
  accountId: string
  /** Null for a wallet, whose account is checked instead. */
  keyId: string | null
  ended: () => void
}

export interface CredentialWatchDeps {
  repository: Pick<ApiKeyRepository, 'listEnded'>
  events: Pick<KeyEvents, 'listen' | 'repeat'>
  pubSub: Pick<PubSub, 'onResumed'>
  clock: Clock
  log: Log
}

/**
 * Reports when the key or wallet account of long-running work, such as a stream or a socket, is revoked, expires or is
 * suspended. Revocations arrive as messages, which can be lost, so one statement checks all watched credentials every few
 * seconds, and as soon as messages flow again.
 */
export class CredentialWatch {
  readonly #deps: CredentialWatchDeps
  readonly #watched = new Set<Watched>()
  readonly #stopListening: () => void
  #timer: NodeJS.Timeout | undefined
  #checking = false

  constructor(deps: CredentialWatchDeps) {
    this.#deps = deps
    this.#stopListening = deps.events.listen((event) => {
      if (event.kind === 'key-revoked') this.#end(event)
    })
    deps.pubSub.onResumed(() => void this.check())
  }

  /** Calls `ended` at least once after the credential ends, until the returned function is called. */
  watch({ accountId, keyId }: Pick<Caller, 'accountId' | 'keyId'>, ended: () => void): () => void {
    const watched: Watched = { accountId, keyId, ended }
    this.#watched.add(watched)
    this.#timer ??= setInterval(() => void this.check(), CHECK_EVERY_MS).unref()
    return () => {
      this.#watched.delete(watched)
      if (this.#watched.size === 0) this.#stopTimer()
    }
  }

  /** One statement, however many credentials are watched. */
  async check(): Promise<void> {
    if (this.#checking || this.#watched.size === 0) return
    this.#checking = true
    const { repository, events, clock, log } = this.#deps
    try {
      for (const event of await repository.listEnded([...this.#watched], clock.now())) {
        // The caches drop the credential first, so that the next look-up sees the same state as this check.
        events.repeat(event)
        this.#end(event)
      }
    } catch (error) {
      log.warn('the credentials of open streams and sockets could not be checked; the check is retried', { error })
    } finally {
      this.#checking = false
    }
  }

  close(): void {
    this.#stopListening()
    this.#stopTimer()
    this.#watched.clear()
  }

  #end({ kind, id }: KeyEvent): void {
    for (const watched of this.#watched) {
      if ((kind === 'account-changed' ? watched.accountId : watched.keyId) === id) watched.ended()
    }
  }

  #stopTimer(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
