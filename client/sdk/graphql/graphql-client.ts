import type { ApiPromise } from '../http/api-promise.ts'
import { isRecord, toApiError } from '../http/error-body.ts'
import type { ResponseInfo } from '../http/response-info.ts'
import type { Transport } from '../http/transport.ts'
import type { RequestOptions } from '../options.ts'
import type { TypedDocument } from './typed-document.ts'

const ACCEPT = 'application/graphql-response+json, application/json'

/**
 * Runs one query or mutation. Throws the ApiError of the answer's first error; its `body` has them all, and the data that came
 * beside them. A document with a mutation in it is not tried again once the service may have seen it.
 */
export function runOperation<Data, Variables>(
  transport: Transport,
  operation: { document: string | TypedDocument<Data, Variables>; variables: Variables | undefined },
  options: RequestOptions | undefined,
): ApiPromise<Data> {
  const query = operation.document.toString()
  return transport.request(
    {
      method: 'POST',
      path: '/graphql',
      body: { query, variables: operation.variables },
      repeat: /\bmutation\b/.test(query) ? 'unsafe' : 'safe',
      options: { ...options, headers: { accept: ACCEPT, ...options?.headers } },
    },
    (body: unknown, response: ResponseInfo) => readData(body, response) as Data,
  )
}

/** The data of a GraphQL result; throws where it has errors. */
export function readData(result: unknown, response: ResponseInfo | null): unknown {
  if (!isRecord(result)) throw toApiError(null, 500, response)
  if (Array.isArray(result['errors'])) throw toApiError(result, response?.status ?? 200, response)
  return result['data']
}
