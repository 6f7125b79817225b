import type { BodyVault } from './body-vault.ts'
import type { KeptBody, RunId } from './idempotency-record.ts'
import type { IdempotencyRepository } from './idempotency-repository.ts'

export const CHUNK_BYTES = 1_048_576
/** A larger answer still reaches its client, but is not kept. */
export const KEPT_BYTES_MAX = 268_435_456

export interface BodyWriterDependencies {
  records: Pick<IdempotencyRepository, 'addChunk' | 'removeChunks'>
  vault: BodyVault
  keptBytesMax: number
}

/** Stores an answer's body while it passes: whole rows at a time, so that memory holds one of them. */
export class BodyWriter {
  readonly #run: RunId
  readonly #deps: BodyWriterDependencies
  #buffered: Uint8Array[] = []
  #bufferedBytes = 0
  #bytes = 0
  #chunks = 0

  constructor(run: RunId, deps: BodyWriterDependencies) {
    this.#run = run
    this.#deps = deps
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.#bytes += bytes.length
    if (this.#isTooLarge) {
      this.#buffered = []
      if (this.#chunks > 0) await this.#deps.records.removeChunks(this.#run)
      this.#chunks = 0
      return
    }
    this.#buffered.push(bytes)
    this.#bufferedBytes += bytes.length
    if (this.#bufferedBytes >= CHUNK_BYTES) await this.#store(CHUNK_BYTES)
  }

  /** Stores what is left and says where the body lies; more may follow. */
  async flush(): Promise<KeptBody> {
    if (this.#isTooLarge) return { kind: 'dropped', bytes: this.#bytes }
    if (this.#chunks === 0) {
      const sealed = this.#deps.vault.seal(Buffer.concat(this.#buffered), placeOf(this.#run, 'inline'))
      return { kind: 'inline', sealed, bytes: this.#bytes }
    }
    if (this.#bufferedBytes > 0) await this.#store(1)
    return { kind: 'chunks', count: this.#chunks, bytes: this.#bytes }
  }

  get #isTooLarge(): boolean {
    return this.#bytes > this.#deps.keptBytesMax
  }

  /** Stores rows of at most one chunk while at least `fromBytes` are buffered. */
  async #store(fromBytes: number): Promise<void> {
    let rest = Buffer.concat(this.#buffered)
    while (rest.length >= fromBytes) {
      const content = this.#deps.vault.seal(rest.subarray(0, CHUNK_BYTES), placeOf(this.#run, this.#chunks))
      await this.#deps.records.addChunk(this.#run, this.#chunks, content)
      this.#chunks += 1
      rest = rest.subarray(CHUNK_BYTES)
    }
    this.#buffered = rest.length === 0 ? [] : [rest]
    this.#bufferedBytes = rest.length
  }
}

export interface BodyReaderDependencies {
  records: Pick<IdempotencyRepository, 'readChunk'>
  vault: BodyVault
}

/** A kept body's bytes: at once where they lie in the record, else row by row. */
export function readBody(
  run: RunId,
  body: Exclude<KeptBody, { kind: 'dropped' }>,
  { records, vault }: BodyReaderDependencies,
): Buffer | AsyncGenerator<Buffer, void> {
  if (body.kind === 'inline') return vault.open(body.sealed, placeOf(run, 'inline'))
  const { count } = body
  return (async function* () {
    for (let position = 0; position < count; position++) {
      const sealed = await records.readChunk(run, position)
      if (sealed === undefined) throw new Error('a kept answer was forgotten while it was read')
      yield vault.open(sealed, placeOf(run, position))
    }
  })()
}

function placeOf({ accountId, key, requestId }: RunId, position: number | 'inline'): string {
  return `${accountId}/${key}/${requestId}/${position}`
}
