import type { ApiPromise } from '../http/api-promise.ts'
import { isRecord, toApiError } from '../http/error-body.ts'
import type { ResponseInfo } from '../http/response-info.ts'
import type { Transport } from '../http/transport.ts'
import type { RequestOptions } from '../options.ts'
import type { TypedDocument } from './typed-document.ts'

type ToResult<Data, Result> = (data: Data, response: ResponseInfo) => Result

const ACCEPT = 'application/graphql-response+json, application/json'

interface Operation<Data, Variables> {
  document: string | TypedDocument<Data, Variables>
  variables: Variables | undefined
}

/**
 * Runs one query or mutation. Throws the ApiError of the response's first error; its `body` has all errors and the
 * data. A document with a mutation is not retried if the service may have received it.
 */
export function runOperation<Data, Variables>(
  transport: Transport,
  operation: Operation<Data, Variables>,
  options: RequestOptions | undefined,
): ApiPromise<Data> {
  return pickFromOperation(transport, { ...operation, toResult: (data: Data) => data }, options)
}

/** The same, for a part of the data. */
export function pickFromOperation<Data, Variables, Result>(
  transport: Transport,
  { document, variables, toResult }: Operation<Data, Variables> & { toResult: ToResult<Data, Result> },
  options: RequestOptions | undefined,
): ApiPromise<Result> {
  const query = document.toString()
  return transport.request(
    {
      method: 'POST',
      path: '/graphql',
      body: { query, variables },
      repeat: /\bmutation\b/.test(query) ? 'unsafe' : 'safe',
      options: { ...options, headers: { accept: ACCEPT, ...options?.headers } },
    },
    (body: unknown, response: ResponseInfo) => toResult(readData(body, response) as Data, response),
  )
}

/** The data of a GraphQL result; throws if it has errors. */
export function readData(result: unknown, response: ResponseInfo | null): unknown {
  if (!isRecord(result)) throw toApiError(null, 500, response)
  if (Array.isArray(result['errors'])) throw toApiError(result, response?.status ?? 200, response)
  return result['data']
}
