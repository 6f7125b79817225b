import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readAnswer } from '../../../../server/domain/rpc/answer-reader.ts'
import { AnswerScanner } from '../../../../server/domain/rpc/answer-scanner.ts'
import { repeats } from '../../../support/soak.ts'

function scanInChunks(text: string, cuts: number[] = []): AnswerScanner {
  const bytes = Buffer.from(text)
  const scanner = new AnswerScanner()
  let from = 0
  for (const cut of [...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length]) {
    scanner.push(bytes.subarray(from, cut))
    from = cut
  }
  return scanner
}

const strictKind = (text: string) => {
  const answer = readAnswer(Buffer.from(text))
  return answer?.shape === 'single' ? answer.item.kind : undefined
}

describe.each([
  ['a result', '{"jsonrpc":"2.0","id":1,"result":"0x1"}', 'result'],
  ['a null result', '{"jsonrpc":"2.0","id":1,"result":null}', 'result'],
  ['an error', '{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"x"}}', 'error'],
  ['a null error before a result', '{"error":null,"result":0}', 'result'],
  ['a null error behind a result', '{"result":[{}],"error":null}', 'result'],
  ['a null result before an error', '{"result":null,"error":{"code":1}}', 'error'],
  ['an error inside a result', '{"result":{"error":{"code":1}}}', 'result'],
  ['a result inside an id string', '{"id":"\\"result\\":1","error":{}}', 'error'],
  ['an escaped name', '{"res\\u0075lt":1}', 'result'],
  ['an error that is a string', '{"error":"no"}', 'error'],
  ['neither', '{"id":1}', null],
] as const)('%s', (_, text, kind) => {
  test('is read the same whole, streamed and byte by byte', () => {
    expect(strictKind(text)).toBe(kind)
    for (const cuts of [[], Array.from({ length: text.length }, (_, index) => index)]) {
      const scanner = scanInChunks(text, cuts)
      expect([scanner.kind, scanner.state]).toEqual([kind, kind === null ? 'malformed' : 'complete'])
    }
  })
})

test('the kind is known at the first byte of the value, long before the response ends', () => {
  const scanner = new AnswerScanner()
  scanner.push(Buffer.from('{"jsonrpc":"2.0","id":1,"result":'))
  expect(scanner.kind).toBeNull()
  scanner.push(Buffer.from('['))
  expect([scanner.kind, scanner.state]).toEqual(['result', 'open'])
})

test.each(['', '   ', '<html>', '[{"result":1}]', '{"result":1}}', '{"result":1} x', '"result"'])(
  'the body %j never counts as a complete response',
  (text) => {
    expect(scanInChunks(text).state).not.toBe('complete')
    expect(strictKind(text)).toBeUndefined()
  },
)

test('every prefix of a response is recognised as cut', () => {
  const text = '{"id":"a\\"}","result":{"x":[1,"]"]}}'
  for (let end = 0; end < text.length; end += 1) {
    expect(scanInChunks(text.slice(0, end)).state).toBe('open')
    expect(readAnswer(Buffer.from(text.slice(0, end)))).toBeUndefined()
  }
})

test('a response is billed the same whole and streamed in any chunks', () => {
  const name = fc.constantFrom('result', 'error', 'id', 'jsonrpc', 'res\\u0075lt', 'x')
  const value = fc.oneof(fc.constant('null'), fc.json({ maxDepth: 4 }), fc.constant('18446744073709551615'))
  const answer = fc
    .array(fc.tuple(name, value), { maxLength: 5 })
    .map((members) => `{ ${members.map(([key, raw]) => `"${key}" : ${raw}`).join(' ,\n')} }`)
  fc.assert(
    fc.property(answer, fc.array(fc.nat(), { maxLength: 6 }), (text, cuts) => {
      const scanner = scanInChunks(text, cuts)
      expect(scanner.kind).toBe(strictKind(text))
      expect(scanner.state).toBe(scanner.kind === null ? 'malformed' : 'complete')
    }),
    { numRuns: repeats(1_000, { soak: 20_000 }) },
  )
})

test('reads the items of a batch response with their raw ids', () => {
  const text = '[{"id":18446744073709551615,"result":1}, {"error":{"code":1},"id":"b"},7]'
  const answer = readAnswer(Buffer.from(text))
  const items = answer?.shape === 'batch' ? answer.items : []
  const raw = (range: { start: number; end: number } | null) => range && text.slice(range.start, range.end)
  expect(items.map((item) => [raw(item.id), item.kind, raw(item.error)])).toEqual([
    ['18446744073709551615', 'result', null],
    ['"b"', 'error', '{"code":1}'],
    [null, null, null],
  ])
})

test('reads a trace that nests a hundred thousand levels deep', () => {
  expect(strictKind(`{"result":${'['.repeat(100_000)}${']'.repeat(100_000)}}`)).toBe('result')
})

test('an array of far more responses than any batch has is not a response', () => {
  const itemsOf = (count: number) => readAnswer(Buffer.from(`[${'0,'.repeat(count - 1)}0]`))
  expect([itemsOf(1_000)?.shape, itemsOf(1_001)]).toEqual(['batch', undefined])
})
