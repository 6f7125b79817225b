import type { Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import type { ApiKeyRepository, KeyUse } from './api-key-repository.ts'

const FLUSH_AFTER_MS = 5_000

/**
 * Collects the last use of keys and writes it every few seconds in one statement, because a write per request would cost
 * more than the request.
 */
export class LastUsedRecorder {
  readonly #repository: Pick<ApiKeyRepository, 'recordUses'>
  readonly #clock: Clock
  readonly #log: Log
  #uses = new Map<string, KeyUse>()
  #timer: NodeJS.Timeout | undefined

  constructor(deps: { repository: Pick<ApiKeyRepository, 'recordUses'>; clock: Clock; log: Log }) {
    this.#repository = deps.repository
    this.#clock = deps.clock
    this.#log = deps.log
  }

  touch({ accountId, keyId }: { accountId: string; keyId: string }): void {
    const use = this.#uses.get(keyId)
    if (use === undefined) this.#uses.set(keyId, { accountId, keyId, usedAt: this.#clock.now() })
    else use.usedAt = this.#clock.now()
    this.#timer ??= setTimeout(() => void this.flush(), FLUSH_AFTER_MS).unref()
  }

  /** Writes the collected uses; if that fails, it is logged and they are lost. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const uses = [...this.#uses.values()]
    if (uses.length === 0) return
    this.#uses = new Map()
    try {
      await this.#repository.recordUses(uses)
    } catch (error) {
      this.#log.warn('last uses of API keys could not be written', { keys: uses.length, error })
    }
  }

  close(): Promise<void> {
    return this.flush()
  }
}
