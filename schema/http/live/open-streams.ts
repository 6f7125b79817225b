/** Lifetimes of the subscriptions that are open, so that a shutdown can end them and lets no new one begin. */
export class OpenStreams {
  readonly #lifetimes = new Set<AbortController>()
  #closed = false

  /** False once the server is going. */
  add(lifetime: AbortController): boolean {
    if (this.#closed) return false
    this.#lifetimes.add(lifetime)
    return true
  }

  remove(lifetime: AbortController): void {
    this.#lifetimes.delete(lifetime)
  }

  close(): void {
    this.#closed = true
    for (const lifetime of this.#lifetimes) lifetime.abort()
  }
}
