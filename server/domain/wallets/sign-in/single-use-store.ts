/** Keys that may be used once, in all processes together and across their restarts. */
export interface SingleUseStore {
  /** True for the first claim of a key within `ttlMs`. Throws when it cannot tell: the caller must then reject. */
  claim(key: string, ttlMs: number): Promise<boolean>
}
