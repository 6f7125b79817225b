import { isDiskFull } from '../domain/database-failure.ts'

/** Remembers that a statement found the disk full, until there is room again. */
export class StorageWatch {
  #isFull = false

  note(error: unknown): void {
    if (isDiskFull(error)) this.#isFull = true
  }

  /** Fails while the disk is full; `tryWriting` is called only then. */
  async assertRoom(tryWriting: () => Promise<unknown>): Promise<void> {
    if (!this.#isFull) return
    await tryWriting()
    this.#isFull = false
  }
}
