import type { BodyVault } from './body-vault.ts'
import type { KeptBody, RunId, StorageLimits, StoringRun } from './idempotency-record.ts'
import type { IdempotencyRepository } from './idempotency-repository.ts'

/**
 * Size of one row of a body. As text, which the driver reads, it stays below V8's threshold for large objects, which are
 * collected late.
 */
export const CHUNK_BYTES = 61_440
const CHUNKS_AT_ONCE = 4
/** A smaller body is stored in its record; a larger one in batches of this size, one statement each. */
export const BATCH_BYTES = CHUNKS_AT_ONCE * CHUNK_BYTES

export interface BodyWriterDeps {
  records: Pick<IdempotencyRepository, 'addChunks' | 'removeChunks'>
  vault: BodyVault
  limits: StorageLimits
}

/**
 * Stores a response body as it streams, a few rows at a time to limit memory. A body that is too large, or exceeds the
 * quota of its account or the database, is dropped; the response still reaches the client.
 */
export class BodyWriter {
  readonly #run: StoringRun
  readonly #deps: BodyWriterDeps
  #dropped = false
  #buffered: Uint8Array[] = []
  #bufferedBytes = 0
  #bytes = 0
  #chunks = 0

  constructor(run: StoringRun, deps: BodyWriterDeps) {
    this.#run = run
    this.#deps = deps
  }

  get isDropped(): boolean {
    return this.#dropped
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.#bytes += bytes.length
    if (this.#dropped) return
    if (this.#bytes > this.#deps.limits.maxResponseBytes) return this.drop()
    this.#buffered.push(bytes)
    this.#bufferedBytes += bytes.length
    if (this.#bufferedBytes >= BATCH_BYTES) await this.#store(BATCH_BYTES)
  }

  /** Stores the rest and returns where the body is stored; more may follow. */
  async flush(): Promise<KeptBody> {
    if (this.#chunks > 0 && this.#bufferedBytes > 0) await this.#store(1)
    if (this.#dropped) return { kind: 'dropped', bytes: this.#bytes }
    if (this.#chunks === 0) {
      const sealed = this.#deps.vault.seal(Buffer.concat(this.#buffered), placeOf(this.#run, 'inline'))
      return { kind: 'inline', sealed, bytes: this.#bytes }
    }
    return { kind: 'chunks', count: this.#chunks, bytes: this.#bytes }
  }

  /** Stops storing the body, and removes the stored part. */
  async drop(): Promise<void> {
    this.#dropped = true
    this.#buffered = []
    this.#bufferedBytes = 0
    if (this.#chunks > 0) await this.#deps.records.removeChunks(this.#run)
    this.#chunks = 0
  }

  /** Stores batch after batch while at least `fromBytes` are buffered. */
  async #store(fromBytes: number): Promise<void> {
    const { records, limits } = this.#deps
    let rest = Buffer.concat(this.#buffered)
    while (rest.length >= fromBytes) {
      const chunks = this.#seal(rest.subarray(0, BATCH_BYTES))
      const stored = await records.addChunks(this.#run, { position: this.#chunks, chunks, limits })
      if (!stored) return this.drop()
      this.#chunks += chunks.length
      rest = rest.subarray(BATCH_BYTES)
    }
    this.#buffered = rest.length === 0 ? [] : [rest]
    this.#bufferedBytes = rest.length
  }

  #seal(batch: Buffer): Buffer[] {
    const sealed: Buffer[] = []
    for (let start = 0; start < batch.length; start += CHUNK_BYTES) {
      const place = placeOf(this.#run, this.#chunks + sealed.length)
      sealed.push(this.#deps.vault.seal(batch.subarray(start, start + CHUNK_BYTES), place))
    }
    return sealed
  }
}

export interface BodyReaderDeps {
  records: Pick<IdempotencyRepository, 'readChunk'>
  vault: BodyVault
}

/** Reads a stored body: at once if it is in the record, otherwise row by row. */
export function readBody(
  run: RunId,
  body: Exclude<KeptBody, { kind: 'dropped' }>,
  { records, vault }: BodyReaderDeps,
): Buffer | AsyncGenerator<Buffer, void> {
  if (body.kind === 'inline') return vault.open(body.sealed, placeOf(run, 'inline'))
  const { count } = body
  return (async function* () {
    for (let position = 0; position < count; position++) {
      const sealed = await records.readChunk(run, position)
      if (sealed === undefined) throw new Error('a stored response was deleted while it was read')
      yield vault.open(sealed, placeOf(run, position))
    }
  })()
}

function placeOf({ accountId, key, requestId }: RunId, position: number | 'inline'): string {
  return `${accountId}/${key}/${requestId}/${position}`
}
