/** Lifetimes of the open subscriptions, so a shutdown can end them and start no new ones. */
export class OpenStreams {
  readonly #lifetimes = new Set<AbortController>()
  #closed = false

  /** False once the server is shutting down. */
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
