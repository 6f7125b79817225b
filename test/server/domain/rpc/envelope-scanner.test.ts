import { describe, expect, test } from 'vitest'
import { DomainError } from '../../../../server/domain/errors.ts'
import { forwardedBytes, scanEnvelope } from '../../../../server/domain/rpc/envelope-scanner.ts'

const scan = (text: string | Buffer) => scanEnvelope(Buffer.from(text))

function refusal(text: string | Buffer): DomainError {
  try {
    scan(text)
  } catch (error) {
    if (error instanceof DomainError) return error
    throw error
  }
  throw new Error(`accepted ${text.toString().slice(0, 80)}`)
}

const call = (members: string) => `{"jsonrpc":"2.0","method":"eth_chainId"${members}}`
const forwarded = (text: string) => {
  const envelope = scan(text)
  return envelope.items.map((item) => forwardedBytes(Buffer.from(text), item).toString())
}

describe('accepts', () => {
  test.each([
    ['a request without id as a notification', call('')],
    ['a request without params', call(',"id":1')],
    ['an id beyond 2^53', call(',"id":12345678901234567890123')],
    ['a negative id', call(',"id":-7')],
    ['a string id with escapes', call(',"id":"\\u0041\\n"')],
    ['duplicate ids in a batch', `[${call(',"id":1')},${call(',"id":1')}]`],
    ['100 items', `[${Array.from({ length: 100 }, () => call(',"id":1')).join()}]`],
    ['64 levels of nesting', call(`,"params":${'['.repeat(63)}${']'.repeat(63)}`)],
    ['white space around everything', ' {\n"jsonrpc" : "2.0" ,\t"method": "a" , "params" : [ ] }\r\n'],
  ])('%s and forwards it byte for byte', (_, text) => {
    expect(scan(text).items.every((item) => item.clean)).toBe(true)
    if (!text.startsWith('[')) expect(forwarded(text)).toEqual([text.trim()])
  })

  test('big integers, key order and escapes inside params reach the node untouched', () => {
    const params = '[ 18446744073709551615, {"b":1,"a":1e400,"b":2}, "\\u00e9\\/" ]'
    expect(forwarded(`{"id":"\\u0031","method":"eth_call","params":${params}}`)).toEqual([
      `{"jsonrpc":"2.0","id":"\\u0031","method":"eth_call","params":${params}}`,
    ])
  })

  test('extra members are dropped and a missing jsonrpc is added', () => {
    expect(forwarded('{"trace":{"x":[1]},"id":1,"method":"net_version"}')).toEqual([
      '{"jsonrpc":"2.0","id":1,"method":"net_version"}',
    ])
  })

  test('a method name is compared after unescaping', () => {
    expect(scan('{"jsonrpc":"2.0","method":"eth\\u005fchainId"}').items[0]?.method).toBe('eth_chainId')
  })

  test('an envelope member whose name is escaped is forwarded under its plain name', () => {
    expect(forwarded('{"jsonrpc":"2.0","\\u006dethod":"net_version"}')).toEqual([
      '{"jsonrpc":"2.0","method":"net_version"}',
    ])
  })
})

describe('rejects as invalid_json', () => {
  test.each([
    ['an empty body', ''],
    ['a byte order mark', `\uFEFF${call('')}`],
    ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ['a cut body', '{"jsonrpc":"2.0","meth'],
    ['text after the value', `${call('')}x`],
    ['a second value', `${call('')}${call('')}`],
    ['65 levels of nesting', call(`,"params":${'['.repeat(64)}${']'.repeat(64)}`)],
    ['a nesting bomb', '['.repeat(1_000_000)],
    ['a trailing comma', call(',"id":1,')],
    ['a leading zero', call(',"id":01')],
    ['a raw control character', call(',"id":"\u0001"')],
    ['an unknown escape', call(',"id":"\\x"')],
    ['a single quote', "{'method':1}"],
    ['brackets that do not match', call(',"params":[}')],
    ['NaN', call(',"params":[NaN]')],
  ])('%s', (_, text) => {
    expect(refusal(text).code).toBe('invalid_json')
  })
})

describe('rejects as invalid_request and names the member', () => {
  test.each([
    ['id null', call(',"id":null'), 'id'],
    ['id with a fraction', call(',"id":1.0'), 'id'],
    ['id with an exponent', call(',"id":1e2'), 'id'],
    ['id object', call(',"id":{}'), 'id'],
    ['id array', call(',"id":[1]'), 'id'],
    ['id boolean', call(',"id":true'), 'id'],
    ['another protocol version', '{"jsonrpc":"1.0","method":"a"}', 'jsonrpc'],
    ['a protocol version as number', '{"jsonrpc":2.0,"method":"a"}', 'jsonrpc'],
    ['params object', call(',"params":{"a":1}'), 'params'],
    ['params null', call(',"params":null'), 'params'],
    ['a missing method', '{"jsonrpc":"2.0","id":1}', 'method'],
    ['a method that is no string', '{"method":7}', 'method'],
    ['a duplicate method', '{"method":"eth_chainId","method":"net_version"}', 'method'],
    ['a duplicate under an escaped name', '{"method":"a","\\u006dethod":"b"}', 'method'],
    ['a case variant', '{"Method":"a","method":"b"}', 'method'],
    ['a variant by Unicode case folding', '{"method":"a","param\u017f":[]}', 'params'],
    ['the third item of a batch', `[${call('')},${call('')},${call(',"id":null')}]`, '2.id'],
    ['a nested batch', `[[${call('')}]]`, '0'],
    ['a batch of numbers', '[1,2,3]', '0'],
  ])('%s', (_, text, field) => {
    const error = refusal(text)
    expect(error).toMatchObject({ code: 'invalid_request', field })
    expect(error.message).toContain(`${field}: `)
  })

  test.each(['null', '1', '"x"', 'true', '[]'])('the body %s', (text) => {
    expect(refusal(text).code).toBe('invalid_request')
  })

  test('a batch of 101 items, naming the limit', () => {
    expect(refusal(`[${Array.from({ length: 101 }, () => call('')).join()}]`).message).toContain('100')
  })
})

describe('a body that is built to take long to read', () => {
  const members = (count: number, member: (index: number) => string) =>
    call(Array.from({ length: count }, (_, index) => `,${member(index)}`).join(''))

  test('accepts an item with 64 members', () => {
    expect(scan(members(62, (index) => `"x${index}":1`)).items).toHaveLength(1)
  })

  test.each([
    ['different names', members(63, (index) => `"x${index}":1`), 'body'],
    ['empty names', members(1_000_000, () => '"":1'), 'body'],
    ['escaped names', members(1_000_000, () => '"\\n":1'), 'body'],
    ['a batch item', `[${call('')},${members(63, () => '"x":1')}]`, '1'],
  ])('names the limit of 64 members for %s', (_, text, place) => {
    expect(refusal(text)).toMatchObject({
      code: 'invalid_request',
      message: `Invalid request parameters: ${place}: must have at most 64 members`,
    })
  })

  test.each([
    ['empty arrays', '[],'.repeat(250_001)],
    ['arrays in arrays', `${'['.repeat(60)}${']'.repeat(60)},`.repeat(5_000)],
    ['members of an object', `{${'"":1,'.repeat(250_001)}"":1},`],
  ])('names the limit of 250,000 values for %s', (_, params) => {
    const error = refusal(call(`,"params":[${params}1]`))
    expect(error).toMatchObject({ code: 'invalid_json', message: expect.stringContaining('more than 250000 values') })
  })

  test('counts the values of all items of a batch together', () => {
    const half = call(`,"params":[${'1,'.repeat(130_000)}1]`)
    expect(scan(half).items).toHaveLength(1)
    expect(refusal(`[${half},${half}]`).message).toContain('more than 250000 values')
  })

  test.each([
    ['method', `{"method":"${'a'.repeat(513)}"}`, 'must have at most 512 bytes'],
    ['jsonrpc', `{"jsonrpc":"${'2'.repeat(100)}","method":"a"}`, 'must be "2.0"'],
  ])('rejects a %s of any length without decoding it', (field, text, message) => {
    expect(refusal(text)).toMatchObject({ code: 'invalid_request', field, message: expect.stringContaining(message) })
  })
})
