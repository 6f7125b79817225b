import type { ResponseInfo } from './response-info.ts'

/** Data, and information from the response headers. */
export interface ApiResponse<Data> {
  data: Data
  response: ResponseInfo
}

/** Resolves to the data of a response. `withResponse()` also returns the request id, cost, balances and limits. */
export type ApiPromise<Data> = Promise<Data> & {
  /**
   * @example
   * const { data, response } = await sluice.chat.completions.create(request).withResponse()
   * console.log(response.requestId, response.cost?.usd, response.balances.usd)
   */
  withResponse: () => Promise<ApiResponse<Data>>
}

export function toApiPromise<Data>(answer: Promise<ApiResponse<Data>>): ApiPromise<Data> {
  const data = answer.then((answered) => answered.data)
  const withResponse = (): Promise<ApiResponse<Data>> => {
    // A caller that uses `withResponse()` sees the failure there.
    data.catch(() => {})
    return answer
  }
  return Object.assign(data, { withResponse })
}
