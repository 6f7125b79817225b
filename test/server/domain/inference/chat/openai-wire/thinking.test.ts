import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { ThinkTagFilter, withoutThinking } from '../../../../../../server/domain/inference/chat/openai-wire/thinking.ts'

const strip = (pieces: readonly string[]): string => {
  const filter = new ThinkTagFilter()
  return pieces.map((piece) => filter.push(piece)).join('') + filter.flush()
}

test.each([
  ['plain', 'plain'],
  ['<think>a</think>b', 'b'],
  ['<think>a</think>\n\nb', 'b'],
  ['x <think>a</think> y <think>b</think> z', 'x y z'],
  ['<think>never closed', ''],
  ['a < b and <thin air', 'a < b and <thin air'],
  ['</think>loose', '</think>loose'],
  ['<think></think>', ''],
  ['a<think>b</think>  ', 'a'],
  ['ends with <thi', 'ends with <thi'],
])('%j becomes %j', (text, expected) => {
  expect(strip([text])).toBe(expected)
})

test('pieces cut anywhere give the same as the whole', () => {
  const alphabet = fc.constantFrom('<think>', '</think>', '<', 'think', '>', '/', ' ', '\n', 'a', 'b')
  fc.assert(
    fc.property(fc.array(alphabet, { maxLength: 12 }), fc.array(fc.nat(80)), (parts, positions) => {
      const text = parts.join('')
      const cuts = [...new Set(positions.map((at) => at % (text.length + 1)))].toSorted((a, b) => a - b)
      const pieces = [0, ...cuts].map((start, index) => text.slice(start, cuts[index] ?? text.length))
      expect(strip(pieces)).toBe(strip([text]))
    }),
  )
})

test('a message loses its thoughts in every field', () => {
  const message = {
    role: 'assistant',
    content: '<think>a</think>b',
    reasoning_content: 'a',
    reasoning: 'a',
    reasoning_details: [1],
  }
  expect(withoutThinking(message)).toEqual({ role: 'assistant', content: 'b' })
  expect(withoutThinking({ content: null, tool_calls: [] })).toEqual({ content: null, tool_calls: [] })
})
