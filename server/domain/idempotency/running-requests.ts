interface Running {
  fingerprint: Buffer
  ended: Promise<void>
  end: () => void
}

/** The keys in progress in this process, so that local duplicates wait for an event instead of the database. */
export class RunningRequests {
  readonly #running = new Map<string, Running>()

  find(lane: string): Pick<Running, 'fingerprint' | 'ended'> | undefined {
    return this.#running.get(lane)
  }

  /** Enters the lane; the returned function leaves it, only once. */
  begin(lane: string, fingerprint: Buffer): () => void {
    const { promise, resolve } = Promise.withResolvers<void>()
    const running = { fingerprint, ended: promise, end: resolve }
    this.#running.set(lane, running)
    return () => {
      if (this.#running.get(lane) === running) this.#running.delete(lane)
      running.end()
    }
  }
}
