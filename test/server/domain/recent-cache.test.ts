import { expect, test } from 'vitest'
import { RecentCache } from '../../../server/domain/recent-cache.ts'

test('the entry that was used longest ago makes room for a new one', () => {
  const cache = new RecentCache<number>({ entriesMax: 2 })
  cache.set('first', 1)
  cache.set('second', 2)
  cache.get('first')
  cache.set('third', 3)
  expect(Object.fromEntries(cache.entries())).toEqual({ first: 1, third: 3 })
})
