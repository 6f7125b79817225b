import type { ApiPromise } from '../http/api-promise.ts'
import { Pages } from '../http/pages.ts'
import type { Transport } from '../http/transport.ts'
import type { RequestOptions } from '../options.ts'
import type { Open } from './open.ts'

export interface BillingBalance {
  /** Whether a request would be admitted now. */
  canConsume: boolean
  /** The currency of the next request. */
  consumptionCurrency: Open<'USD' | 'DIEM'> | null
  /** JSON numbers; `account.retrieve` has exact strings. */
  balances: { usd: number | null; diem: number | null }
  diemEpochAllocation: number
}

/** The last 1 to 90 days including today, or a range of UTC days; default 7 days. */
export type AnalyticsPeriod = { lookback?: `${number}d` } | { startDate: string; endDate: string }

interface Totals {
  totalUsd: number
  totalDiem: number
  totalUnits: number
}

/** DIEM of a day by name; `date` is in Unix milliseconds. */
type ChartRow = { date: number } & Record<string, number>

export interface UsageAnalytics {
  /** `<N>d` or `<startDate>:<endDate>`. */
  lookback: string
  byDate: { date: string; USD: number; DIEM: number }[]
  byModel: (Totals & {
    modelName: string
    unitType: Open<'tokens' | 'images' | 'chars' | 'minutes' | 'seconds' | 'credits'>
    modelType: Open<'LLM' | 'IMAGE' | 'TTS' | 'ASR' | 'VIDEO'> | null
    /** Present if several types of units were used. */
    breakdown?: { type: string; usd: number; diem: number; units: number }[]
  })[]
  byModelDaily: ChartRow[]
  topModels: string[]
  byKey: (Totals & { apiKeyId: string | null; description: string })[]
  byKeyDaily: ChartRow[]
  topKeyNames: string[]
}

export interface UsageHistoryFilter {
  currency?: Open<'USD' | 'DIEM'> | undefined
  /** ISO 8601, inclusive. */
  startTimestamp?: string | undefined
  /** ISO 8601, exclusive. */
  endTimestamp?: string | undefined
  /** 10 to 1,000; default 1,000. */
  pageSize?: number | undefined
}

export interface UsageHistoryEntry {
  timestamp: string
  sku: string
  units: number
  pricePerUnitUsd: number
  /** Negative: an amount taken from the balance. */
  amount: number
  currency: Open<'USD' | 'DIEM'>
  notes: string
  inferenceDetails: {
    requestId: string
    promptTokens: number | null
    completionTokens: number | null
    inferenceExecutionTime: number | null
  } | null
}

/** Usage and balance as in the REST API. All methods require an ADMIN key. */
export class Billing {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  balance(options?: RequestOptions): ApiPromise<BillingBalance> {
    return this.#get('balance', { options }, (balance: BillingBalance) => balance)
  }

  /**
   * Spending by day, model and key.
   *
   * @example
   * const { byModel } = await sluice.billing.usageAnalytics({ lookback: '30d' })
   */
  usageAnalytics(period: AnalyticsPeriod = {}, options?: RequestOptions): ApiPromise<UsageAnalytics> {
    return this.#get('usage-analytics', { query: { ...period }, options }, (analytics: UsageAnalytics) => analytics)
  }

  /** Every charged line, oldest first. */
  usageHistory(filter: UsageHistoryFilter = {}, options?: RequestOptions): Pages<UsageHistoryEntry> {
    return new Pages((cursor) => {
      // A cursor is sent alone, because it contains the filter.
      const query = cursor === null ? { ...filter } : { cursor }
      return this.#get('usage-history', { query, options }, (page: HistoryBody) => ({
        items: page.data,
        nextCursor: page.nextCursor,
      }))
    })
  }

  #get<Data>(
    name: string,
    parts: { query?: Record<string, string | number | undefined>; options: RequestOptions | undefined },
    toData: (body: never) => Data,
  ): ApiPromise<Data> {
    return this.#transport.request({ method: 'GET', path: `/api/v1/billing/${name}`, repeat: 'safe', ...parts }, toData)
  }
}

interface HistoryBody {
  data: UsageHistoryEntry[]
  nextCursor: string | null
}
