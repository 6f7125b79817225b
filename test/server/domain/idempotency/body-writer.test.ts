import { expect, test } from 'vitest'
import { BodyVault } from '../../../../server/domain/idempotency/body-vault.ts'
import { BATCH_BYTES, BodyWriter, CHUNK_BYTES, readBody } from '../../../../server/domain/idempotency/body-writer.ts'
import { readBytes } from '../../../support/drain.ts'

const run = { accountId: 'account', key: 'key', requestId: 'request', processId: 'process', expiresAt: new Date(0) }

function createBody({ maxResponseBytes = 10 * BATCH_BYTES, rowsMax = Infinity } = {}) {
  const rows: Buffer[] = []
  const records = {
    addChunks: async (_: unknown, { position, chunks }: { position: number; chunks: readonly Buffer[] }) => {
      if (position + chunks.length > rowsMax) return false
      rows.splice(position, chunks.length, ...chunks)
      return true
    },
    readChunk: async (_: unknown, position: number) => rows[position],
    removeChunks: async () => void (rows.length = 0),
  }
  const limits = { maxResponseBytes, maxAccountBytes: 0, maxTotalBytes: 0 }
  const deps = { records, vault: new BodyVault('pepper'), limits }
  return { rows, writer: new BodyWriter(run, deps), deps }
}

/** Bytes of which no two stretches are alike. */
function pattern(size: number): Buffer {
  return Buffer.from(Uint8Array.from({ length: size }, (_, index) => (index * 2_654_435_761) >>> 24))
}

test.each([
  ['nothing', [0], 0],
  ['a small answer', [100], 0],
  ['just under a batch', [BATCH_BYTES - 1], 0],
  ['exactly a batch', [BATCH_BYTES], 4],
  ['many small pieces', Array.from({ length: 31 }, () => 10_007), 6],
  ['one large piece', [3 * BATCH_BYTES + CHUNK_BYTES + 5], 14],
])('%s comes back byte for byte', async (_, sizes, rowCount) => {
  const { rows, writer, deps } = createBody()
  const pieces = sizes.map((size, index) => pattern(size + index).subarray(index))
  for (const piece of pieces) await writer.write(piece)
  const kept = await writer.flush()
  if (kept.kind === 'dropped') throw new Error('dropped')
  const body = readBody(run, kept, deps)
  const read = Buffer.isBuffer(body) ? body : await readBytes(body)
  expect(read.equals(Buffer.concat(pieces))).toBe(true)
  expect([rows.length, kept.bytes]).toEqual([rowCount, sizes.reduce((sum, size) => sum + size, 0)])
})

test('the rest after a flush is appended', async () => {
  const { writer, deps } = createBody()
  for (const piece of [pattern(BATCH_BYTES), Buffer.from('}')]) await writer.write(piece)
  expect(await writer.flush()).toMatchObject({ count: 5, bytes: BATCH_BYTES + 1 })
  await writer.write(Buffer.from('\n'))
  const kept = await writer.flush()
  if (kept.kind !== 'chunks') throw new Error('not in chunks')
  const read = await readBytes(readBody(run, kept, deps) as AsyncGenerator<Buffer>)
  expect(read.subarray(BATCH_BYTES).toString()).toBe('}\n')
})

test('no more than a batch waits in memory while more comes', async () => {
  const { rows, writer } = createBody()
  for (let index = 0; index < 33; index++) await writer.write(Buffer.alloc(65_536))
  expect(rows).toHaveLength(4 * Math.floor((33 * 65_536) / BATCH_BYTES))
})

test('a body above the limit is dropped with its stored part', async () => {
  const { rows, writer } = createBody({ maxResponseBytes: BATCH_BYTES + 10 })
  await writer.write(pattern(BATCH_BYTES + 10))
  expect(rows).toHaveLength(4)
  await writer.write(Buffer.from('!'))
  expect([await writer.flush(), rows.length]).toEqual([{ kind: 'dropped', bytes: BATCH_BYTES + 11 }, 0])
})

test('a body without room is dropped with its stored part', async () => {
  const { rows, writer } = createBody({ rowsMax: 5 })
  await writer.write(pattern(BATCH_BYTES))
  expect([rows.length, writer.isDropped]).toEqual([4, false])
  await writer.write(pattern(BATCH_BYTES))
  expect([rows.length, writer.isDropped]).toEqual([0, true])
  await writer.write(pattern(BATCH_BYTES))
  expect([await writer.flush(), rows.length]).toEqual([{ kind: 'dropped', bytes: 3 * BATCH_BYTES }, 0])
})

test('a row does not open in another place', async () => {
  const { writer, deps, rows } = createBody()
  await writer.write(pattern(BATCH_BYTES))
  await writer.flush()
  rows.reverse()
  const body = readBody(run, { kind: 'chunks', count: 4, bytes: BATCH_BYTES }, deps)
  await expect(readBytes(body as AsyncGenerator<Buffer>)).rejects.toThrow()
})
