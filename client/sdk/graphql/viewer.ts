import { SluiceError } from '../errors.ts'
import type { ApiPromise } from '../http/api-promise.ts'
import { toRefusal } from '../http/error-body.ts'
import { type Page, Pages } from '../http/pages.ts'
import type { ResponseInfo } from '../http/response-info.ts'
import type { Transport } from '../http/transport.ts'
import type { RequestOptions } from '../options.ts'
import { pickFromOperation } from './graphql-client.ts'
import type { PageEnd } from './records.ts'
import type { TypedDocument } from './typed-document.ts'

/** 1 to 100 items per page; default 100. */
export interface PageOptions {
  pageSize?: number | undefined
}

const PAGE_SIZE = 100

interface Operation<Viewer, Variables> {
  /** Returns null if no credential was sent. */
  document: TypedDocument<{ viewer: Viewer | null }, Variables>
  variables: Variables
}

interface Connection<Item> {
  nodes: Item[]
  pageInfo: PageEnd
}

/** The part of a result about the caller's own account; throws AuthenticationError if no credential was sent. */
export function readViewer<Viewer, Variables, Data>(
  transport: Transport,
  { toData, ...operation }: Operation<Viewer, Variables> & { toData: (viewer: Viewer) => Data },
  options: RequestOptions | undefined,
): ApiPromise<Data> {
  const toResult = ({ viewer }: { viewer: Viewer | null }, response: ResponseInfo): Data => {
    if (viewer !== null) return toData(viewer)
    throw toRefusal(
      'UNAUTHENTICATED',
      { message: 'This operation requires an API key or a wallet', body: null },
      response,
    )
  }
  return pickFromOperation(transport, { ...operation, toResult }, options)
}

/** One list of the account, page by page. */
export function listOfViewer<Viewer, Variables extends { first: number }, Item>(
  transport: Transport,
  list: Operation<Viewer, Variables> & { toConnection: (viewer: Viewer) => Connection<Item> | null },
  options: RequestOptions | undefined,
): Pages<Item> {
  const { document, toConnection } = list
  const toData = (viewer: Viewer): Page<Item> => {
    const { nodes, pageInfo } = requireField(toConnection(viewer))
    return { items: nodes, nextCursor: pageInfo.hasNextPage ? pageInfo.endCursor : null }
  }
  return new Pages((after) => {
    const variables = { ...list.variables, after }
    return readViewer(transport, { document, variables, toData }, options)
  })
}

/**
 * The value of a field that is null only if the credential may not read it; in that case the whole call has already
 * failed.
 */
export function requireField<Value>(value: Value | null): Value {
  if (value === null) throw new SluiceError('The service returned neither the field nor an error')
  return value
}

export function firstOf({ pageSize = PAGE_SIZE }: PageOptions): { first: number } {
  return { first: pageSize }
}
