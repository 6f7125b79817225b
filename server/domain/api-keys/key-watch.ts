import type { Caller, KeyCaller } from '../auth/caller.ts'
import type { Clock } from '../clock.ts'
import type { ApiKeyRepository } from './api-key-repository.ts'
import type { KeyEvents } from './key-events.ts'

/** Work that must not outlive the key that pays for it. */
interface Watcher {
  caller: KeyCaller
  ended: () => void
}

export interface KeyWatchDependencies {
  repository: Pick<ApiKeyRepository, 'listInactive'>
  events: Pick<KeyEvents, 'listen'>
  clock: Clock
}

/**
 * Ends long work, such as streams, when its key is revoked or expires. A revocation arrives as a message; since messages
 * can be lost, one query every few seconds checks all watched keys.
 */
export class KeyWatch {
  readonly #deps: KeyWatchDependencies
  readonly #watchers = new Map<string, Set<Watcher>>()
  readonly #stopListening: () => void

  constructor(deps: KeyWatchDependencies) {
    this.#deps = deps
    this.#stopListening = deps.events.listen(({ kind, id }) => {
      if (kind === 'key-revoked') this.#end(id)
    })
  }

  /** Calls `ended` at most once; the returned function stops watching. */
  watch(caller: Caller, ended: () => void): () => void {
    if (caller.kind !== 'key') return () => {}
    const { keyId } = caller
    const watchers = this.#watchers.get(keyId) ?? new Set()
    const watcher: Watcher = { caller, ended }
    this.#watchers.set(keyId, watchers.add(watcher))
    return () => {
      watchers.delete(watcher)
      if (watchers.size === 0 && this.#watchers.get(keyId) === watchers) this.#watchers.delete(keyId)
    }
  }

  /** Ends the work of every key that is revoked or expired; costs one query however many streams there are. */
  async check(): Promise<void> {
    const now = this.#deps.clock.now()
    const callers = [...this.#watchers.values()].flatMap(([watcher]) => (watcher === undefined ? [] : [watcher.caller]))
    for (const { keyId, expiresAt } of callers) if (expiresAt !== null && expiresAt <= now) this.#end(keyId)
    const watched = callers.filter(({ keyId }) => this.#watchers.has(keyId))
    if (watched.length === 0) return
    for (const keyId of await this.#deps.repository.listInactive(watched, now)) this.#end(keyId)
  }

  close(): void {
    this.#stopListening()
    this.#watchers.clear()
  }

  #end(keyId: string): void {
    const watchers = this.#watchers.get(keyId)
    this.#watchers.delete(keyId)
    for (const { ended } of watchers ?? []) ended()
  }
}
