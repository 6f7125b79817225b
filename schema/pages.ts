import { itemAt } from '../server/domain/item-at.ts'
import { PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX, type Page, PageRequest } from '../server/domain/page.ts'
import { described } from '../server/domain/validation/described.ts'
import { builder } from './builder.ts'

/** The arguments of every connection: lists are read forwards only, newest first. */
export const pageArgs = builder.args((t) => ({
  first: t.int({
    required: true,
    defaultValue: PAGE_SIZE_DEFAULT,
    description: `Maximum number of items: 1 to ${PAGE_SIZE_MAX}.`,
    validate: described(PageRequest.shape.first),
  }),
  after: t.string({
    description: 'An `endCursor` of the same list: the page begins after that item.',
    validate: described(PageRequest.shape.after),
  }),
}))

/** A page costs its requested number of objects; the argument itself rejects sizes above the maximum. */
export function pageComplexity({ first }: { first: number }): { field: number; multiplier: number } {
  return { field: 1, multiplier: Math.min(first, PAGE_SIZE_MAX) }
}

/** A page in Relay's form. */
export function toConnection<Item>(
  { items, cursors, endCursor, hasNextPage }: Page<Item>,
  after: string | null | undefined,
) {
  return {
    edges: items.map((node, index) => ({ node, cursor: itemAt(cursors, index) })),
    pageInfo: { hasNextPage, hasPreviousPage: after != null, startCursor: cursors[0] ?? null, endCursor },
  }
}
