import { createHash } from 'node:crypto'
import { z } from 'zod'
import { invalidField } from './validation/parse-input.ts'

export const PAGE_SIZE_MAX = 100
export const PAGE_SIZE_DEFAULT = 20

/** What a caller asks of a list: at most `first` items behind the item that the cursor `after` names. */
export const PageRequest = z.strictObject({
  first: z.int().min(1).max(PAGE_SIZE_MAX).default(PAGE_SIZE_DEFAULT),
  after: z.string().min(1).max(512).nullish(),
})
export type PageRequest = z.output<typeof PageRequest>

export interface Page<Item> {
  items: Item[]
  /** One opaque cursor per item, in the same order: `after` with it continues behind that item. */
  cursors: string[]
  /** The last item's cursor, or null on an empty page. */
  endCursor: string | null
  hasNextPage: boolean
}

/** The list that a cursor belongs to; a cursor of another list or account is refused. */
export interface CursorScope {
  /** Stable name of the list, for example `api_keys`. */
  list: string
  accountId: string
  /** What the front calls the cursor. */
  field?: string
}

/**
 * Values of sort keys as cursors have them. Cursors are not signed, so a caller can make one up: only what every database
 * can compare with is let through.
 */
export const CursorNumber = z.string().regex(/^\d{1,18}$/)
export const CursorDay = z.iso.date().refine(hasDatabaseYear)
export const CursorInstant = z.iso.datetime().refine(hasDatabaseYear)

/** Of an ISO 8601 text; there is no year zero. */
function hasDatabaseYear(text: string): boolean {
  return text >= '0001'
}

/** The sort key of one item: what the query compares to continue behind it. */
export type CursorKey = readonly string[]

/**
 * The page of `rows`, which the query read with `limit first + 1`: the surplus row only proves that there is a next page.
 * `keyOf` gives the values of the list's sort columns, the unique one last.
 */
export function toPage<Item>(
  rows: readonly Item[],
  first: number,
  { scope, keyOf }: { scope: CursorScope; keyOf: (item: Item) => CursorKey },
): Page<Item> {
  const items = rows.slice(0, first)
  const cursors = items.map((item) => encodeCursor(scope, keyOf(item)))
  return { items, cursors, endCursor: cursors.at(-1) ?? null, hasNextPage: rows.length > first }
}

/** An opaque base64url cursor that only the same list of the same account accepts. */
export function encodeCursor(scope: CursorScope, key: CursorKey): string {
  return Buffer.from(JSON.stringify([fingerprint(scope), ...key])).toString('base64url')
}

/**
 * The sort key in a cursor, read by `schema` (a tuple of strings or of values coerced from them).
 * Fails with `invalid_request` when the cursor is malformed or of another list or account.
 */
export function decodeCursor<Schema extends z.ZodType>(
  scope: CursorScope,
  schema: Schema,
  cursor: string,
): z.output<Schema> {
  const parts = parseParts(cursor)
  const key = parts?.[0] === fingerprint(scope) ? schema.safeParse(parts.slice(1)) : undefined
  if (key?.success) return key.data
  throw invalidField(
    scope.field ?? 'after',
    'is not a cursor of this list; pass a cursor that this list returned, or omit it',
  )
}

function parseParts(cursor: string): unknown[] | undefined {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
    return Array.isArray(parts) ? parts : undefined
  } catch {
    return undefined
  }
}

/** Short, because a cursor needs to be recognised and not to be kept secret: every query filters by account anyway. */
function fingerprint({ list, accountId }: CursorScope): string {
  return createHash('sha256').update(`${list}\0${accountId}`).digest('base64url').slice(0, 8)
}
