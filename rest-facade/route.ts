import type { z } from 'zod'
import type { Caller } from '../server/domain/caller.ts'
import type { RatePlan } from '../server/domain/rate-limits/rate-plan.ts'
import type { Exchange } from './exchange.ts'

/**
 * Who may call a route:
 * `public` nobody is identified; `optional` a key is used when sent; `inference` any key or a wallet;
 * `wallet` a wallet; `any_key` any key; `admin` an ADMIN key.
 */
export type Access = 'public' | 'optional' | 'inference' | 'wallet' | 'any_key' | 'admin'

export interface Route {
  method: 'get' | 'post' | 'patch' | 'delete'
  /** Path below `/api/v1` in Express form. */
  path: string
  access: Access
  /** Absent: the route reads no body. `json` parses; both keep the raw bytes for fingerprints. */
  body?: { kind: 'json' | 'raw'; limitBytes: number }
  /** An `Idempotency-Key` makes repeats get the first answer; absent: the header means nothing. */
  idempotent?: true
  /** A payment header is the route's own business; absent: it pays for the request on `inference` routes and is refused elsewhere. */
  takesPayment?: true
  /** Answers are compressed for clients that ask for it; worth it only for large ones. */
  compressed?: true
  /**
   * The windows whose state the headers of a rejected or failed request show; undefined while they are not known. Absent:
   * the account's window of management requests.
   */
  ratePlan?: (exchange: Exchange, caller: Caller) => RatePlan | undefined
  /** One line for the OpenAPI document. */
  summary: string
  /** Body or query schema, for the OpenAPI document; the handler parses with the same one. */
  input?: z.ZodType
  handler: (exchange: Exchange) => Promise<void>
}

export const JSON_BODY_BYTES_MAX = 35 * 1024 * 1024
export const RPC_BODY_BYTES_MAX = 5 * 1024 * 1024
export const KEY_BODY_BYTES_MAX = 16 * 1024
