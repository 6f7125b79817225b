interface Running {
  fingerprint: Buffer
  ended: Promise<void>
  end: () => void
}

/** The keys that this process works on, so that duplicates here wait for an event and not for the database. */
export class RunningRequests {
  readonly #running = new Map<string, Running>()

  find(lane: string): Pick<Running, 'fingerprint' | 'ended'> | undefined {
    return this.#running.get(lane)
  }

  /** Takes the lane; the returned function gives it back, once. */
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
