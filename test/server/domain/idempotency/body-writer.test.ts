import { expect, test } from 'vitest'
import { BodyVault } from '../../../../server/domain/idempotency/body-vault.ts'
import { BodyWriter, CHUNK_BYTES, readBody } from '../../../../server/domain/idempotency/body-writer.ts'
import { readBytes } from '../../../support/drain.ts'

const run = { accountId: 'account', key: 'key', requestId: 'request', processId: 'process' }

function createBody(keptBytesMax = 10 * CHUNK_BYTES) {
  const rows: Buffer[] = []
  const records = {
    addChunk: async (_: unknown, position: number, content: Buffer) => void (rows[position] = content),
    readChunk: async (_: unknown, position: number) => rows[position],
    removeChunks: async () => void (rows.length = 0),
  }
  const deps = { records, vault: new BodyVault('pepper'), keptBytesMax }
  return { rows, writer: new BodyWriter(run, deps), deps }
}

/** Bytes of which no two stretches are alike. */
function pattern(size: number): Buffer {
  return Buffer.from(Uint8Array.from({ length: size }, (_, index) => (index * 2_654_435_761) >>> 24))
}

test.each([
  ['nothing', [0], 0],
  ['a small answer', [100], 0],
  ['just under a row', [CHUNK_BYTES - 1], 0],
  ['exactly a row', [CHUNK_BYTES], 1],
  ['many small pieces', Array.from({ length: 40 }, () => 65_536), 3],
  ['one large piece', [3 * CHUNK_BYTES + 5], 4],
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

test('what trails behind a flush is added', async () => {
  const { writer, deps } = createBody()
  for (const piece of [pattern(CHUNK_BYTES), Buffer.from('}')]) await writer.write(piece)
  expect(await writer.flush()).toMatchObject({ count: 2, bytes: CHUNK_BYTES + 1 })
  await writer.write(Buffer.from('\n'))
  const kept = await writer.flush()
  if (kept.kind !== 'chunks') throw new Error('not in chunks')
  const read = await readBytes(readBody(run, kept, deps) as AsyncGenerator<Buffer>)
  expect(read.subarray(CHUNK_BYTES).toString()).toBe('}\n')
})

test('rows are whole while more comes, so that memory holds one of them', async () => {
  const { rows, writer } = createBody()
  for (let index = 0; index < 33; index++) await writer.write(Buffer.alloc(65_536))
  expect(rows).toHaveLength(2)
})

test('a body above the limit is dropped with what was stored of it', async () => {
  const { rows, writer } = createBody(CHUNK_BYTES + 10)
  await writer.write(pattern(CHUNK_BYTES + 10))
  expect(rows).toHaveLength(1)
  await writer.write(Buffer.from('!'))
  expect([await writer.flush(), rows.length]).toEqual([{ kind: 'dropped', bytes: CHUNK_BYTES + 11 }, 0])
})

test('a row does not open in another place', async () => {
  const { writer, deps, rows } = createBody()
  await writer.write(pattern(2 * CHUNK_BYTES))
  await writer.flush()
  rows.reverse()
  const body = readBody(run, { kind: 'chunks', count: 2, bytes: 2 * CHUNK_BYTES }, deps)
  await expect(readBytes(body as AsyncGenerator<Buffer>)).rejects.toThrow()
})
