import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatNanoUsd, toNanoUsd } from '../../../client/sdk/index.ts'

describe('money', () => {
  test.each([
    ['0', 0n],
    ['1.2345', 1_234_500_000n],
    ['-0.000000001', -1n],
    ['0.00001250', 12_500n],
    [0.0000066, 6_600n],
    [1e-9, 1n],
    [4_000_000.123456789, 4_000_000_123_456_789n],
  ])('%s is %s nano-USD', (amount, nano) => {
    expect(toNanoUsd(amount)).toBe(nano)
  })

  test.each(['', '1.', '.5', '1e3', '0.0000000001', '1,5', Number.NaN, Number.POSITIVE_INFINITY])(
    '%j is rejected',
    (amount) => {
      expect(() => toNanoUsd(amount)).toThrow(RangeError)
    },
  )

  test('survives its way through text, and through the numbers of JSON', () => {
    fc.assert(fc.property(fc.bigInt(), (nano) => toNanoUsd(formatNanoUsd(nano)) === nano))
    const amounts = fc.bigInt({ min: 0n, max: 4_000_000_000_000_000n })
    fc.assert(fc.property(amounts, (nano) => toNanoUsd(Number(formatNanoUsd(nano))) === nano))
  })
})
