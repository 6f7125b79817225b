/** Keys that can be used only once across all processes and restarts. */
export interface SingleUseStore {
  /** True for the first claim of a key within `ttlMs`. Throws if this is unknown: the caller must then reject. */
  claim(key: string, ttlMs: number): Promise<boolean>
}
