/** One page of a list. */
export interface Page<Item> {
  items: Item[]
  /** Cursor of the next page; null on the last page. */
  nextCursor: string | null
}

/** A list that is fetched page by page while it is read. If you leave the loop, no further page is fetched. */
export class Pages<Item> implements AsyncIterable<Item> {
  readonly #fetchPage: (cursor: string | null) => Promise<Page<Item>>

  constructor(fetchPage: (cursor: string | null) => Promise<Page<Item>>) {
    this.#fetchPage = fetchPage
  }

  /** A single page: the first one, or the one after the cursor of an earlier page. */
  page(cursor: string | null = null): Promise<Page<Item>> {
    return this.#fetchPage(cursor)
  }

  /** All pages, one after the other. */
  async *pages(): AsyncGenerator<Page<Item>, void> {
    let cursor: string | null = null
    do {
      const page: Page<Item> = await this.#fetchPage(cursor)
      yield page
      cursor = page.nextCursor
    } while (cursor !== null)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void> {
    for await (const page of this.pages()) yield* page.items
  }
}
