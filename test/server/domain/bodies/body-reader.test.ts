import { setImmediate } from 'node:timers/promises'
import { afterAll, describe, expect, it } from 'vitest'
import { BodyReader, INLINE_BYTES_MAX } from '../../../../server/domain/bodies/body-reader.ts'
import { DomainError } from '../../../../server/domain/errors.ts'
import { readAnswer } from '../../../../server/domain/rpc/answer-reader.ts'
import { scanEnvelope } from '../../../../server/domain/rpc/envelope-scanner.ts'

const bodies = new BodyReader()
afterAll(() => bodies.close())

const FILLER = 'x'.repeat(INLINE_BYTES_MAX)
const call = (end: string) => Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"a","params":["${FILLER}"${end}`)

describe('a large JSON body', () => {
  it('is parsed, and its bytes come back unchanged', async () => {
    const value = { messages: [{ role: 'user', content: `${FILLER}é€😀` }], n: [1, 2.5, null, true] }
    const text = JSON.stringify(value)
    const { raw, parsed } = await bodies.readJson(Buffer.concat([Buffer.from(text)]))
    expect(parsed).toEqual(value)
    expect(raw.toString()).toBe(text)
  })

  it('leaves the rest of a shared buffer alone', async () => {
    const shared = Buffer.from(`AAAA["${FILLER}"]BBBB`)
    const { raw } = await bodies.readJson(shared.subarray(4, shared.length - 4))
    expect(raw.toString()).toBe(`["${FILLER}"]`)
    expect(shared.toString('latin1', 0, 4) + shared.toString('latin1', shared.length - 4)).toBe('AAAABBBB')
  })

  it.each([
    ['invalid_json', `["${FILLER}"`, 'not valid JSON'],
    ['invalid_request', `["${FILLER}",${'['.repeat(300)}`, 'nested more than 256 levels'],
  ])('is rejected with %s as a small one is', async (code, text, message) => {
    const failure = bodies.readJson(Buffer.from(text))
    await expect(failure).rejects.toBeInstanceOf(DomainError)
    await expect(failure).rejects.toMatchObject({ code, message: expect.stringContaining(message) })
  })

  it('is rejected with 503 when too many others wait', async () => {
    const many = await Promise.allSettled(
      Array.from({ length: 65 }, () => bodies.readJson(Buffer.from(`["${FILLER}"]`))),
    )
    expect(many.filter(({ status }) => status === 'fulfilled')).toHaveLength(64)
    expect(many.at(-1)).toMatchObject({ reason: { code: 'unavailable', retryAfterSeconds: 1 } })
  })
})

describe('a large JSON-RPC body', () => {
  it('is scanned as a small one is, and stays usable', async () => {
    const body = call(']}')
    expect(await bodies.scanEnvelope(body)).toEqual(scanEnvelope(body))
    expect(body.toString('latin1', 0, 9)).toBe('{"jsonrpc')
  })

  it('is rejected with the field at fault', async () => {
    await expect(bodies.scanEnvelope(call('],"id":2}'))).rejects.toMatchObject({
      code: 'invalid_request',
      field: 'id',
      details: { id: { _errors: ['is duplicated'] } },
    })
  })
})

it('bodies are read again after the thread has ended', async () => {
  const others = new BodyReader()
  const text = `["${FILLER}"]`
  expect((await others.readJson(Buffer.from(text))).parsed).toEqual([FILLER])
  await others.close()
  expect((await others.readJson(Buffer.from(text))).parsed).toEqual([FILLER])
  await others.close()
})

describe('a large response of a node', () => {
  const answer = Buffer.from(`[{"id":1,"result":[${'0,'.repeat(4_000_000)}0]},{"id":2,"error":{}}]`)

  it('is read as a small one is, and its bytes come back unchanged', async () => {
    const expected = readAnswer(answer)
    const text = answer.toString('latin1')
    const read = await bodies.readAnswer(Buffer.concat([answer]))
    expect(read.answer).toEqual(expected)
    expect(read.raw.toString('latin1')).toBe(text)
  })

  it('lets the event loop turn while it is read', async () => {
    const progress = { turns: 0, ended: false }
    const reading = bodies.readAnswer(Buffer.concat([answer])).finally(() => (progress.ended = true))
    for (; !progress.ended; progress.turns++) await setImmediate()
    await reading
    expect(progress.turns).toBeGreaterThan(10)
  })

  it('is a failure if it is cut off', async () => {
    expect((await bodies.readAnswer(Buffer.from(answer.subarray(0, -1)))).answer).toBeUndefined()
  })
})
