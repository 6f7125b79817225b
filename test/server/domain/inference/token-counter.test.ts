import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { beforeAll, describe, expect, test } from 'vitest'
import { TokenCounter } from '../../../../server/domain/inference/token-counter.ts'
import { estimateTokens } from '../../../../server/domain/inference/token-estimate.ts'

const counter = new TokenCounter()
beforeAll(() => counter.load())

const SAMPLES: Record<string, string> = {
  prose: 'The committee met on Tuesday, and nobody could agree about what the minutes of the last meeting had said.',
  code: 'export const add = (a: number, b: number): number => {\n    return a + b\n}\n',
  json: '{"id":"chatcmpl-012345","created":1700000000,"choices":[{"index":0,"delta":{"content":"x"}}]}',
  german: 'Überraschenderweise können Fußgänger größere Entfernungen zurücklegen, als man gemeinhin annimmt.',
  russian: 'Комитет собрался во вторник, и никто не мог согласиться с протоколом прошлого заседания.',
  chinese: '委员会星期二开会,没有人能就上次会议的记录达成一致意见。',
  hindi: 'समिति की बैठक मंगलवार को हुई और कोई भी सहमत नहीं हो सका।',
  emoji: '🎉🚀🔥 wow 👩‍💻👨‍👩‍👧',
  base64: 'aGVsbG8gd29ybGQgdGhpcyBpcyBiYXNlNjQgZW5jb2RlZCB0ZXh0IHdpdGggbWl4ZWQgY2FzZQ==',
}

describe('count', () => {
  test('counts as o200k does', () => {
    expect(counter.count(['hello world']).tokens).toBe(2)
    expect(counter.count(['hello world', 'hello']).tokens).toBe(3)
    expect(counter.count([])).toEqual({ tokens: 0, atLeast: 0 })
  })

  test('a text that comes again counts as it did, and no text counts as another', () => {
    const texts = Object.values(SAMPLES).map((sample) => `${sample} `.repeat(20))
    const first = texts.map((text) => counter.count([text]).tokens)
    expect(texts.map((text) => counter.count([text]).tokens)).toEqual(first)
    expect(first).toEqual(texts.map((text) => counter.countExactly(text)))
  })

  test('takes special tokens in a prompt as plain text', () => {
    expect(counter.count(['<|endoftext|>']).tokens).toBeGreaterThan(1)
  })

  test('estimates beyond 64 Ki characters, above the true count and with a safe lower bound', () => {
    const text = (SAMPLES['prose'] ?? '').repeat(1_000)
    const exact = counter.countExactly(text)
    const { tokens, atLeast } = counter.count([text])
    expect(tokens).toBeGreaterThan(exact)
    expect(tokens).toBeLessThan(2 * exact)
    expect(atLeast).toBeLessThan(exact)
  })
})

describe('countExactly', () => {
  test('cutting long runs changes the count of ordinary text not at all', () => {
    const text = (SAMPLES['prose'] ?? '').repeat(10)
    expect(counter.countExactly(text)).toBe(countTokens(text))
  })

  test.each(['a', 'é', '7', ' ', '!', '🎉'])('a word of 20,000 × "%s" is counted in pieces', (character) => {
    const word = character.repeat(20_000)
    const piece = counter.countExactly(character.repeat(250 / character.length))
    expect(counter.countExactly(word)).toBeLessThanOrEqual(piece * 80 * character.length + 80)
  })
})

test.each(Object.entries(SAMPLES))('estimateTokens is not below the count of %s', (_, sample) => {
  const text = `${sample} `.repeat(20)
  expect(estimateTokens(text)).toBeGreaterThanOrEqual(counter.countExactly(text))
})
