import { describe, expect, it } from 'vitest'
import { DomainError } from '../../../../../server/domain/errors.ts'
import { UsageQuery } from '../../../../../server/domain/usage/reports/inputs.ts'
import { toUsageRange } from '../../../../../server/domain/usage/reports/usage-range.ts'
import { parseInput } from '../../../../../server/domain/validation/parse-input.ts'

const TODAY = '2026-03-10'
const range = (query: object) => toUsageRange(parseInput(UsageQuery, query), TODAY)

function refusedField(query: object): unknown {
  try {
    return range(query)
  } catch (error) {
    if (error instanceof DomainError) return `${error.code} ${error.field}`
    throw error
  }
}

describe('the days of a usage report', () => {
  it('are the last 7, today included, when none is named', () => {
    expect(range({})).toEqual({ from: '2026-03-04', to: '2026-03-10' })
    expect(range({ from: null, to: null })).toEqual({ from: '2026-03-04', to: '2026-03-10' })
  })

  it.each([
    ['2026-03-10', '2026-03-10'],
    ['2025-12-11', '2026-03-10'],
    ['2024-02-29', '2024-02-29'],
    // A month that has not ended yet.
    ['2026-03-01', '2026-03-31'],
  ])('may be %s to %s', (from, to) => {
    expect(range({ from, to })).toEqual({ from, to })
  })

  it.each([
    ['from', { to: '2026-03-10' }],
    ['to', { from: '2026-03-10' }],
    ['to', { from: '2026-03-10', to: '2026-03-09' }],
    ['to', { from: '2025-12-10', to: '2026-03-10' }],
    ['from', { from: '2026-03-11', to: '2026-03-12' }],
    ['from', { from: '9999-01-01', to: '9999-01-02' }],
    ['from', { from: '0000-01-01', to: '0000-01-02' }],
    ['from', { from: '2026-02-29', to: '2026-03-01' }],
    ['to', { from: '2026-03-01', to: '2026-3-2' }],
    ['to', { from: '2026-03-01', to: '2026-03-02T00:00:00Z' }],
    ['from', { from: '7d', to: '2026-03-02' }],
    ['from', { from: '', to: '2026-03-02' }],
    ['filter.skus', { filter: { skus: [] } }],
    ['filter.skus.0', { filter: { skus: ['a\0b'] } }],
    ['filter.networks', { filter: { networks: Array.from({ length: 101 }, String) } }],
    ['filter.apiKeyIds.0', { filter: { apiKeyIds: ['no uuid'] } }],
    ['groupBy.0', { groupBy: ['minute'] }],
  ])('are rejected like the filter at %s: %j', (field, query) => {
    expect(refusedField(query)).toBe(`invalid_request ${field}`)
  })
})
