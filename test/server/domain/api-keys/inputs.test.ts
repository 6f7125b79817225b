import { describe, expect, test } from 'vitest'
import { ApiKeyDescription, ApiKeyExpiry, CreateApiKeyInput } from '../../../../server/domain/api-keys/inputs.ts'

describe('expiry', () => {
  test.each([
    ['2027-01-31', '2027-01-31T00:00:00.000Z'],
    ['2028-02-29', '2028-02-29T00:00:00.000Z'],
    ['2027-01-31T23:59:59Z', '2027-01-31T23:59:59.000Z'],
    ['2027-01-31T23:59:59.250Z', '2027-01-31T23:59:59.250Z'],
  ])('%s is the instant %s', (text, instant) => {
    expect(ApiKeyExpiry.parse(text)?.toISOString()).toBe(instant)
  })

  test.each(['', null])('%j is not an expiry', (value) => {
    expect(ApiKeyExpiry.parse(value)).toBeNull()
  })

  test.each([
    '2027-02-30',
    '2027-13-01',
    '2027-01-31T24:61:00Z',
    '2027-1-31',
    '2027-01-31T10:00:00',
    '2027-01-31T10:00:00+01:00',
    'tomorrow',
    '1700000000',
    ' ',
  ])('rejects %j', (text) => {
    expect(ApiKeyExpiry.safeParse(text).success).toBe(false)
  })
})

describe('settings', () => {
  test('limits, period, privacy and expiry have defaults; type and description have none', () => {
    expect(CreateApiKeyInput.parse({ type: 'ADMIN', description: '' })).toEqual({
      type: 'ADMIN',
      description: '',
      limits: { usdNano: null, diemNano: null },
      limitPeriod: 'EPOCH',
      modelPrivacy: 'ALL',
      expiresAt: null,
    })
    expect(CreateApiKeyInput.safeParse({ type: 'ADMIN' }).success).toBe(false)
    expect(CreateApiKeyInput.safeParse({ description: 'x' }).success).toBe(false)
  })

  test.each([
    [9_999_999_999_000_000_000n, true],
    [9_999_999_999_000_000_001n, false],
    [0n, true],
    [-1n, false],
  ])('a limit of %s nano-USD is allowed: %s', (usdNano, allowed) => {
    const input = { type: 'INFERENCE', description: 'x', limits: { usdNano } }
    expect(CreateApiKeyInput.safeParse(input).success).toBe(allowed)
  })

  test.each([
    ['x'.repeat(64), true],
    ['x'.repeat(65), false],
    ['a\0b', false],
    ['Schlüssel 鍵 🔑', true],
  ])('the description %j is allowed: %s', (description, allowed) => {
    expect(ApiKeyDescription.safeParse(description).success).toBe(allowed)
  })
})
