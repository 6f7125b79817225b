import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { describe, expect, test } from 'vitest'
import { TokenCounter } from '../../../../../server/domain/inference/tokens/token-counter.ts'
import { estimateTokens } from '../../../../../server/domain/inference/tokens/token-estimate.ts'

const counter = new TokenCounter()

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

const tokensOf = async (...texts: string[]): Promise<number> => (await counter.count(texts)).tokens

describe('count', () => {
  test('counts as o200k does', async () => {
    expect(await tokensOf('hello world')).toBe(2)
    expect(await tokensOf('hello world', 'hello')).toBe(3)
    expect(await counter.count([])).toEqual({ tokens: 0, atLeast: 0 })
  })

  test('a repeated text counts as it did, and no text counts as another', async () => {
    const texts = Object.values(SAMPLES).map((sample) => `${sample} `.repeat(20))
    const counts = texts.map((text) => countTokens(text))
    expect(await Promise.all(texts.map((text) => tokensOf(text)))).toEqual(counts)
    expect(await Promise.all(texts.map((text) => tokensOf(text)))).toEqual(counts)
  })

  test('takes special tokens in a prompt as plain text', async () => {
    expect(await tokensOf('<|endoftext|>')).toBeGreaterThan(1)
  })

  test.each(['prose', 'code', 'json', 'german', 'chinese'])('long texts are counted exactly: %s', async (name) => {
    const text = `${SAMPLES[name] ?? ''}\n`.repeat(3_000)
    const exact = countTokens(text)
    const { tokens, atLeast } = await counter.count([text])
    expect(Math.abs(tokens - exact)).toBeLessThanOrEqual(2 * Math.ceil(text.length / 16_384))
    expect(atLeast).toBeLessThanOrEqual(exact)
    if (name === 'prose') expect([tokens, atLeast]).toEqual([exact, exact])
  })

  test.each(['a', 'é', '7', ' ', '!', '🎉', 'ab7! '])(
    'a word of one million characters "%s" has a lower bound that no exact count is below',
    async (piece) => {
      const sample = piece.repeat(Math.floor(3_000 / piece.length))
      const { atLeast } = await counter.count([sample])
      expect(atLeast).toBeGreaterThan(0)
      expect(atLeast).toBeLessThanOrEqual(countTokens(sample))
      const word = piece.repeat(Math.floor(1_000_000 / piece.length))
      const long = await counter.count([word], 5_000)
      expect(long.atLeast).toBeGreaterThan(5_000)
    },
  )

  test('many short texts are counted like a long one, and others get their turn meanwhile', async () => {
    let turns = 0
    const timer = setInterval(() => (turns += 1), 0)
    const texts = Array.from({ length: 20_000 }, (_, index) => `message number ${index} of a long conversation`)
    const { tokens, atLeast } = await counter.count(texts)
    clearInterval(timer)
    const exact = sumOf(texts)
    expect([tokens, atLeast]).toEqual([exact, exact])
    expect(turns).toBeGreaterThan(1)
  })

  test('hostile text is counted in another thread, while others get their turn', async () => {
    let turns = 0
    const timer = setInterval(() => (turns += 1), 0)
    const hostile = Array.from({ length: 20_000 }, (_, index) =>
      String.fromCharCode(0x4e00 + ((index * 7919) % 20_000)),
    )
    await counter.count([hostile.join('')])
    clearInterval(timer)
    expect(turns).toBeGreaterThan(1)
  })
})

function sumOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + countTokens(text), 0)
}

test('a completion beyond a million characters is counted by its beginning', async () => {
  const text = 'word '.repeat(300_000)
  expect(Math.abs((await counter.countCompletion(text)) - 300_001)).toBeLessThan(100)
})

test.each(Object.entries(SAMPLES))('estimateTokens is not below the count of %s', (_, sample) => {
  const text = `${sample} `.repeat(20)
  expect(estimateTokens(text)).toBeGreaterThanOrEqual(countTokens(text))
})
