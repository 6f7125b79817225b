import type { ApiPromise } from '../http/api-promise.ts'
import type { Pages } from '../http/pages.ts'
import type { Transport } from '../http/transport.ts'
import type { RequestOptions } from '../options.ts'
import type { Open } from '../rest/open.ts'
import { RATE_LIMIT_PAGE, REFUSAL_PAGE } from './operations.ts'
import type { LimitFill, LimitRefusal } from './records.ts'
import { firstOf, listOfViewer, type PageOptions } from './viewer.ts'

/** The limits of the calling key, as in `GET /api_keys/rate_limits`. */
export interface KeyLimits {
  /** Whether the balance, the key and the account would admit a request now. */
  accessPermitted: boolean
  apiTier: { id: string; isCharged: boolean }
  /** The amounts that the key can spend now, as JSON numbers. */
  balances: { USD?: number; DIEM?: number }
  /** ISO 8601; null means never. */
  keyExpiration: string | null
  nextEpochBegins: string
  rateLimits: { apiModelId: string; rateLimits: { type: Open<'RPM' | 'RPD' | 'TPM'>; amount: number }[] }[]
}

export class Limits {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** The current limits, balances and expiry of the key. */
  retrieve(options?: RequestOptions): ApiPromise<KeyLimits> {
    return this.#transport.request(
      { method: 'GET', path: '/api/v1/api_keys/rate_limits', repeat: 'safe', options },
      ({ data }: { data: KeyLimits }) => data,
    )
  }

  /**
   * The limits of each model and endpoint, with their current use.
   *
   * @example
   * for await (const { subject, windows } of sluice.rateLimits.list())
   *   for (const { type, used, limit } of windows) console.log(`${subject}: ${used} of ${limit} ${type}`)
   */
  list(page: PageOptions = {}, options?: RequestOptions): Pages<LimitFill> {
    const list = { document: RATE_LIMIT_PAGE, variables: firstOf(page) }
    return listOfViewer(this.#transport, { ...list, toConnection: ({ rateLimits }) => rateLimits }, options)
  }

  /** Requests that exceeded a limit, newest first. */
  log(page: PageOptions = {}, options?: RequestOptions): Pages<LimitRefusal> {
    const list = { document: REFUSAL_PAGE, variables: firstOf(page) }
    return listOfViewer(this.#transport, { ...list, toConnection: ({ rateLimitLog }) => rateLimitLog }, options)
  }
}
