const PAGE_SIZE_MAX = 100

interface ListPage<Item> {
  items: Item[]
  endCursor: string | null
  hasNextPage: boolean
}

/** The first `limit` items of a list, or all of them, page by page. */
export async function readPages<Item>(
  read: (page: { first: number; after: string | null }) => Promise<ListPage<Item>>,
  limit = Number.POSITIVE_INFINITY,
): Promise<Item[]> {
  const items: Item[] = []
  let after: string | null = null
  do {
    const page: ListPage<Item> = await read({ first: Math.min(PAGE_SIZE_MAX, limit - items.length), after })
    items.push(...page.items)
    after = page.hasNextPage ? page.endCursor : null
  } while (after !== null && items.length < limit)
  return items
}
