import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { assertParsable } from '../../../../server/domain/bodies/json-structure.ts'

const LARGE = 'x'.repeat(32 * 1024)
const check = (json: string) => () => assertParsable(Buffer.from(json))
const large = (value: unknown) => JSON.stringify([LARGE, value])

describe('the structure of a large JSON body', () => {
  it.each([
    ['arrays in arrays', '['.repeat(50_000), 'nested more than 256 levels'],
    ['objects in objects', '{"a":'.repeat(50_000), 'nested more than 256 levels'],
    ['many arrays', `[${'[],'.repeat(32_769)}[]]`, 'more than 32768 values'],
    ['many numbers', `[${'1,'.repeat(32_769)}1]`, 'more than 32768 values'],
    ['depth behind a string that ends in escapes', `["${LARGE}\\\\",${'['.repeat(300)}`, 'nested more than 256 levels'],
  ])('is rejected where parsing would take long: %s', (_name, json, reason) => {
    expect(check(json)).toThrow(expect.objectContaining({ code: 'invalid_request' }))
    expect(check(json)).toThrow(reason)
  })

  it('is never rejected for the content of its strings', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('[', '{', '"', '\\', ',', '\\"', '\\\\', 'é', ']'), { maxLength: 2_000 }),
        (parts) => {
          expect(check(large(parts.join('')))).not.toThrow()
          expect(check(large({ [parts.join('')]: [parts.join(''), 1] }))).not.toThrow()
        },
      ),
    )
  })

  it('counts each level that is open at a time, not each that ever was', () => {
    expect(check(large(Array.from({ length: 1_000 }, () => [[[]]])))).not.toThrow()
  })

  it('costs small bodies nothing: they are parsed as they are', () => {
    expect(check('['.repeat(1_000))).not.toThrow()
  })
})
