import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { decodeCursor, encodeCursor, PageRequest, toPage } from '../../../server/domain/page.ts'

const scope = { list: 'things', accountId: 'a' }
const Key = z.tuple([z.string()])
const page = (rows: string[], first: number) => toPage(rows, first, { scope, keyOf: (row) => [row] })

describe('toPage', () => {
  it('drops the surplus row and says that there is more', () => {
    expect(page(['x', 'y', 'z'], 2)).toMatchObject({ items: ['x', 'y'], hasNextPage: true })
  })

  it('has no more when the rows just fill it', () => {
    const { cursors, endCursor, hasNextPage } = page(['x', 'y'], 2)
    expect(hasNextPage).toBe(false)
    expect(cursors).toHaveLength(2)
    expect(endCursor).toBe(cursors[1])
  })

  it('has no cursor when it is empty', () => {
    expect(page([], 2)).toEqual({ items: [], cursors: [], endCursor: null, hasNextPage: false })
  })
})

describe('a cursor', () => {
  it('refunds the key of its item', () => {
    expect(decodeCursor(scope, Key, encodeCursor(scope, ['ключ "1"']))).toEqual(['ключ "1"'])
  })

  it.each([
    ['of another list', encodeCursor({ ...scope, list: 'others' }, ['1'])],
    ['of another account', encodeCursor({ ...scope, accountId: 'b' }, ['1'])],
    ['with a key of another form', encodeCursor(scope, ['1', '2'])],
    ['that is garbage', '!!!'],
    ['that is empty', ''],
    ['that is JSON but no list', Buffer.from('{}').toString('base64url')],
  ])('%s is rejected', (_name, cursor) => {
    expect(() => decodeCursor(scope, Key, cursor)).toThrow(
      expect.objectContaining({ code: 'invalid_request', field: 'after' }),
    )
  })
})

describe('PageRequest', () => {
  it.each([0, -1, 1.5, 101])('rejects a page of %s', (first) => {
    expect(PageRequest.safeParse({ first }).success).toBe(false)
  })

  it('asks for 20 items by default', () => {
    expect(PageRequest.parse({})).toEqual({ first: 20 })
  })
})
