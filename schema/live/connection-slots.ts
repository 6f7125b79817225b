/** Counts what a key holds open in this process: sockets and event streams together. */
export class ConnectionSlots {
  readonly #max: number
  readonly #taken = new Map<string, number>()

  constructor(max: number) {
    this.#max = max
  }

  /** Takes a slot and gives the function that frees it, or undefined when the key has none left. */
  take(keyId: string): (() => void) | undefined {
    const taken = this.#taken.get(keyId) ?? 0
    if (taken >= this.#max) return undefined
    this.#taken.set(keyId, taken + 1)
    let freed = false
    return () => {
      if (freed) return
      freed = true
      const left = (this.#taken.get(keyId) ?? 1) - 1
      if (left === 0) this.#taken.delete(keyId)
      else this.#taken.set(keyId, left)
    }
  }
}
