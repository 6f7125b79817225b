/** Counts the open connections of each key or address in this process. */
export class ConnectionSlots {
  readonly #max: number
  readonly #taken = new Map<string, number>()

  constructor(max: number) {
    this.#max = max
  }

  /** Takes a slot and returns the function that frees it, or undefined if its owner has none left. */
  take(owner: string): (() => void) | undefined {
    const taken = this.#taken.get(owner) ?? 0
    if (taken >= this.#max) return undefined
    this.#taken.set(owner, taken + 1)
    let freed = false
    return () => {
      if (freed) return
      freed = true
      const left = (this.#taken.get(owner) ?? 1) - 1
      if (left === 0) this.#taken.delete(owner)
      else this.#taken.set(owner, left)
    }
  }
}
