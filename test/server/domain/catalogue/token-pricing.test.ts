import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ModelPricing } from '../../../../server/domain/catalogue/model-definition.ts'
import { TokenPricing, type TokenUsage } from '../../../../server/domain/catalogue/token-pricing.ts'

const PRICES = {
  input: { usd: 0.15 },
  output: { usd: 0.6 },
  cache_input: { usd: 0.075 },
  cache_write: { usd: 0.1875 },
  extended: { context_token_threshold: 200_000, input: { usd: 0.3 }, output: { usd: 1.2 } },
}
const pricing = new TokenPricing(ModelPricing.parse(PRICES))

const usage = (promptTokens: number, completionTokens = 0, cachedTokens = 0, cacheWriteTokens = 0): TokenUsage => ({
  promptTokens,
  completionTokens,
  cachedTokens,
  cacheWriteTokens,
})

describe('price', () => {
  test.each([
    ['1 input token: 150 nano', usage(1), 150n],
    ['1 output token: 600 nano', usage(0, 1), 600n],
    ['12 in, 20 out', usage(12, 20), 13_800n],
    ['a cached token costs its own rate', usage(100, 0, 40), 60n * 150n + 40n * 75n],
    ['a cache-writing token costs its own rate: 187.5 nano round up to 188', usage(1, 0, 0, 1), 188n],
    ['the threshold itself is not above it', usage(200_000, 1), 200_000n * 150n + 600n],
    ['above the threshold the whole request is dearer', usage(200_001, 1), 200_001n * 300n + 1_200n],
    ['above it cached tokens without a rate cost the input rate', usage(200_001, 0, 1), 200_001n * 300n],
    ['nothing', usage(0, 0), 0n],
  ])('%s', (_, tokens, expected) => {
    expect(pricing.price(tokens).amountNanoUsd).toBe(expected)
  })

  test('rounds the request once, half up, and not each line', () => {
    const tiny = new TokenPricing(ModelPricing.parse({ input: { usd: 0.0003 }, output: { usd: 0.0002 } }))
    // 0.3 + 0.2 nano is half a nano, which rounds up; each line alone would round to 0.
    expect(tiny.price(usage(1, 1))).toEqual({
      amountNanoUsd: 1n,
      lines: [
        { type: 'Input', units: 1, amountNanoUsd: 0n, unitPriceUsd: '0.0000000003' },
        { type: 'Output', units: 1, amountNanoUsd: 1n, unitPriceUsd: '0.0000000002' },
      ],
    })
  })

  test('names the lines as the analytics do, without empty ones', () => {
    const types = pricing.price(usage(10, 5, 3, 2)).lines.map(({ type, units }) => [type, units])
    expect(types).toEqual([
      ['Input', 5],
      ['Cache Read', 3],
      ['Cache Write', 2],
      ['Output', 5],
    ])
  })

  test('a model without prices is free', () => {
    expect(new TokenPricing({}).price(usage(1_000, 1_000)).amountNanoUsd).toBe(0n)
  })

  test('the lines add up to the charge', () => {
    const count = fc.integer({ min: 0, max: 400_000 })
    const rate = fc.integer({ min: 0, max: 99_999_999 }).map((micros) => ({ usd: micros / 1_000_000 }))
    fc.assert(
      fc.property(rate, rate, rate, rate, count, count, count, (input, output, cacheRead, cacheWrite, a, b, c) => {
        const prices = { input, output, cache_input: cacheRead, cache_write: cacheWrite }
        const tokens = usage(a + b + c, c, a, b)
        const priced = new TokenPricing(ModelPricing.parse(prices)).price(tokens)
        expect(priced.lines.reduce((sum, line) => sum + line.amountNanoUsd, 0n)).toBe(priced.amountNanoUsd)
        expect(priced.lines.every((line) => line.amountNanoUsd >= 0n)).toBe(true)
      }),
    )
  })
})

describe('worstCaseNanoUsd', () => {
  test('takes the cache-write rate where it is above the input rate', () => {
    expect(pricing.worstCaseNanoUsd({ promptTokens: 1_000, completionTokens: 100 })).toBe(187_500n + 60_000n)
  })

  test('covers every split of the prompt', () => {
    const count = fc.integer({ min: 0, max: 100_000 })
    fc.assert(
      fc.property(count, count, count, count, (plain, cached, written, completion) => {
        const promptTokens = plain + cached + written
        const worst = pricing.worstCaseNanoUsd({ promptTokens, completionTokens: completion })
        expect(pricing.price(usage(promptTokens, completion, cached, written)).amountNanoUsd <= worst).toBe(true)
      }),
    )
  })
})

test('outputIsFree only where neither rate costs anything', () => {
  const extended = { context_token_threshold: 1, output: { usd: 1 } }
  const free = [{}, { output: { usd: 0 } }, { input: { usd: 1 } }]
  const priced = [{ output: { usd: 0.000001 } }, { output: { usd: 0 }, extended }]
  const isFree = (prices: object) => new TokenPricing(ModelPricing.parse(prices)).outputIsFree
  expect([...free, ...priced].map(isFree)).toEqual([true, true, true, false, false])
})
