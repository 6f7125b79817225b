import { describe, expect, test } from 'vitest'
import { periodSpentNano } from '../../../../server/domain/api-keys/key-spend.ts'

const spend = { day: '2026-01-31', dayNano: 1n, month: '2026-01-01', monthNano: 20n, lifetimeNano: 300n }

describe('spending in a limit period', () => {
  test.each([
    ['EPOCH', '2026-01-31', 1n],
    ['EPOCH', '2026-02-01', 0n],
    ['MONTH', '2026-01-31', 20n],
    ['MONTH', '2026-02-01', 0n],
    ['LIFETIME', '2027-06-15', 300n],
  ] as const)('%s on %s counts %s', (period, today, expected) => {
    expect(periodSpentNano(spend, period, today)).toBe(expected)
  })
})
