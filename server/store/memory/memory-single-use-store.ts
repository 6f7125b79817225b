import type { SingleUseStore } from '../../domain/wallets/sign-in/single-use-store.ts'

/** Some 100 MB; beyond, keys can no longer be told apart and none is given. */
const KEYS_MAX = 500_000

/** Single use within one process. What was claimed is forgotten when the process ends. */
export class MemorySingleUseStore implements SingleUseStore {
  readonly forgetsBeforeMs: number
  /** By time of the claim, so that the first ones run out first where all live equally long. */
  readonly #endsAtMs = new Map<string, number>()

  /** `nowMs`: the start of the process, as Unix time. */
  constructor(nowMs: number) {
    this.forgetsBeforeMs = nowMs
  }

  claim(key: string, ttlMs: number): Promise<boolean> {
    const nowMs = performance.now()
    this.#forgetEnded(nowMs)
    const endsAtMs = this.#endsAtMs.get(key)
    if (endsAtMs !== undefined && endsAtMs > nowMs) return Promise.resolve(false)
    if (this.#endsAtMs.size >= KEYS_MAX) return Promise.reject(new Error('too many keys are in use'))
    this.#endsAtMs.delete(key)
    this.#endsAtMs.set(key, nowMs + ttlMs)
    return Promise.resolve(true)
  }

  #forgetEnded(nowMs: number): void {
    for (const [key, endsAtMs] of this.#endsAtMs) {
      if (endsAtMs > nowMs) return
      this.#endsAtMs.delete(key)
    }
  }
}
