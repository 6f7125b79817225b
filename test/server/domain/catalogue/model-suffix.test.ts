import { describe, expect, test } from 'vitest'
import { splitModelSuffix } from '../../../../server/domain/catalogue/model-suffix.ts'

const EXACT = new Set(['llama3.3:70b', 'odd:a=b'])
const split = (name: string) => splitModelSuffix(name, (id) => EXACT.has(id))

describe('splitModelSuffix', () => {
  test.each([
    ['m', 'm', {}],
    ['m:enable_web_search=on', 'm', { enable_web_search: 'on' }],
    ['m:a=1&b=2', 'm', { a: '1', b: '2' }],
    ['m:a=x%20y%26z', 'm', { a: 'x y&z' }],
    ['m:a=', 'm', { a: '' }],
    ['m:a=b=c', 'm', { a: 'b=c' }],
    ['m:a=1&a=2', 'm', { a: '2' }],
    ['llama3.3:70b', 'llama3.3:70b', {}],
    ['llama3.3:70b:disable_thinking=true', 'llama3.3:70b', { disable_thinking: 'true' }],
    ['org/m:8b:a=x:y', 'org/m:8b', { a: 'x:y' }],
    ['odd:a=b', 'odd:a=b', {}],
    ['m:web', 'm:web', {}],
    ['m:a=1&b', 'm:a=1&b', {}],
    ['m:=1', 'm:=1', {}],
    [':a=1', '', { a: '1' }],
  ])('reads %s', (name, expectedName, parameters) => {
    expect(split(name)).toEqual({ name: expectedName, parameters })
  })

  test('rejects a value that is not URL-encoded', () => {
    expect(() => split('m:a=%E0%A4')).toThrow(expect.objectContaining({ code: 'invalid_request', field: 'model' }))
  })
})
