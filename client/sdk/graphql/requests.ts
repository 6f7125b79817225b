import type { ApiPromise } from '../http/api-promise.ts'
import type { Pages } from '../http/pages.ts'
import type { Transport } from '../http/transport.ts'
import type { RequestOptions } from '../options.ts'
import { REQUEST_PAGE, REQUEST_RECEIPT, type RequestReceiptData } from './operations.ts'
import type { RequestRecord } from './records.ts'
import type { RequestFilterInput } from './schema-types.ts'
import { firstOf, listOfViewer, type PageOptions, readViewer } from './viewer.ts'

export type RequestReceipt = NonNullable<NonNullable<RequestReceiptData['viewer']>['request']>

/** Finished requests with their usage, cost and outcome. */
export class Requests {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * The request log, newest first, including failed requests.
   *
   * @example
   * for await (const { sku, charge } of sluice.requests.list({ skus: ['my-model'] })) console.log(sku, charge)
   */
  list({ pageSize, ...filter }: RequestFilterInput & PageOptions = {}, options?: RequestOptions): Pages<RequestRecord> {
    const list = { document: REQUEST_PAGE, variables: { ...firstOf({ pageSize }), filter } }
    return listOfViewer(this.#transport, { ...list, toConnection: ({ requests }) => requests }, options)
  }

  /**
   * The receipt of one request, by the `requestId` of its response; null if the request is unknown or still running.
   */
  retrieve(requestId: string, options?: RequestOptions): ApiPromise<RequestReceipt | null> {
    const operation = { document: REQUEST_RECEIPT, variables: { requestId } }
    return readViewer(this.#transport, { ...operation, toData: ({ request }) => request }, options)
  }
}
