/** Keys that may be used once, in all processes together. */
export interface SingleUseStore {
  /** True for the first claim of a key within `ttlMs`. Throws when it cannot tell: whoever asks must then refuse. */
  claim(key: string, ttlMs: number): Promise<boolean>
  /** Claims that were made before this instant (Unix ms) may be forgotten; null: the store outlives this process. */
  readonly forgetsBeforeMs: number | null
}
