import type { ApiPromise } from '../http/api-promise.ts'
import type { Transport } from '../http/transport.ts'
import type { RequestOptions } from '../options.ts'
import { USAGE_CUBE, type UsageCubeData } from './operations.ts'
import type { UsageInput } from './schema-types.ts'
import { readViewer, requireField } from './viewer.ts'

/** Rows with the highest amount first, one for each combination of the dimensions. Other dimensions are null. */
export type UsageReport = NonNullable<NonNullable<UsageCubeData['viewer']>['usage']>

export class Usage {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Usage and cost, grouped by any dimensions. Amounts equal the ledger exactly.
   *
   * @example
   * const { rows, totals } = await sluice.usage.cube({ groupBy: ['DAY', 'SKU'] })
   * for (const { day, sku, amount } of rows) console.log(day, sku, amount)
   */
  cube(input: UsageInput = {}, options?: RequestOptions): ApiPromise<UsageReport> {
    const operation = { document: USAGE_CUBE, variables: { input } }
    return readViewer(this.#transport, { ...operation, toData: ({ usage }) => requireField(usage) }, options)
  }
}
