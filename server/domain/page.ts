import { createHash } from 'node:crypto'
import { z } from 'zod'
import { invalidField } from './validation/parse-input.ts'

export const PAGE_SIZE_MAX = 100
export const PAGE_SIZE_DEFAULT = 20

/** Requests at most `first` items after the item of the cursor `after`. */
export const PageRequest = z.strictObject({
  first: z.int().min(1).max(PAGE_SIZE_MAX).default(PAGE_SIZE_DEFAULT),
  after: z.string().min(1).max(512).nullish(),
})
export type PageRequest = z.output<typeof PageRequest>

export interface Page<Item> {
  items: Item[]
  /** One opaque cursor per item, in the same order; pass one as `after` to continue after its item. */
  cursors: string[]
  /** The last item's cursor, or null on an empty page. */
  endCursor: string | null
  hasNextPage: boolean
}

/** The list that a cursor belongs to; a cursor of another list or account is rejected. */
export interface CursorScope {
  /** Stable name of the list, for example `api_keys`. */
  list: string
  accountId: string
  /** Name of the cursor field in the calling API. */
  field?: string
}

/**
 * Forms of sort keys in cursors. Cursors are not signed and can be forged, so only values that every database can compare
 * are accepted.
 */
export const CursorNumber = z.string().regex(/^\d{1,18}$/)
export const CursorDay = z.iso.date().refine(hasDatabaseYear)
export const CursorInstant = z.iso.datetime().refine(hasDatabaseYear)

/** Checks the year of an ISO 8601 text: databases have no year zero. */
function hasDatabaseYear(text: string): boolean {
  return text >= '0001'
}

/** The sort key of one item, from which the query continues. */
export type CursorKey = readonly string[]

/**
 * Builds the page of `rows`, which the query read with `limit first + 1`: the extra row only shows that there is a next
 * page. `keyOf` returns the values of the list's sort columns, the unique one last.
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
 * Decodes the sort key of a cursor with `schema` (a tuple of strings or of values coerced from them). Fails with
 * `invalid_request` if the cursor is malformed or belongs to another list or account.
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

/** Short, because it only detects mistakes and protects no secret: every query filters by account anyway. */
function fingerprint({ list, accountId }: CursorScope): string {
  return createHash('sha256').update(`${list}\0${accountId}`).digest('base64url').slice(0, 8)
}
