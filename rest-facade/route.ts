import type { z } from 'zod'
import type { Caller } from '../server/domain/caller.ts'
import type { DomainErrorCode } from '../server/domain/errors.ts'
import type { RatePlan } from '../server/domain/rate-limits/rate-plan.ts'
import type { Exchange } from './exchange.ts'
import type { Reply } from './reply.ts'

/**
 * Who may call a route: `public` nobody is identified; `optional` a key is used if sent; `inference` any key or a
 * wallet; `wallet` the wallet that the path names; `any_key` any key; `admin` an ADMIN key.
 */
export type Access = 'public' | 'optional' | 'inference' | 'wallet' | 'any_key' | 'admin'

/** One REST operation: its handler, and everything that clients, tests and the OpenAPI document need to know. */
export interface Route<Json = unknown> {
  method: 'get' | 'post' | 'patch' | 'delete'
  /** Path below `/api/v1`: `:name` matches one segment, `*name` the rest. */
  path: string
  /** One line for the OpenAPI document. */
  summary: string
  access: Access
  /**
   * The rate windows of the route's callers, which its responses show; null if callers are not limited individually.
   */
  limits: RouteLimits | null
  /** The handler parses with the same schemas. */
  parameters?: { path?: z.ZodObject; query?: z.ZodType }
  /** Absent: the route reads no body. */
  body?: RouteBody
  /** The body of a response with status 200. */
  output: RouteOutput<Json>
  /** Error codes of its service; those implied by the rest of the declaration are in `route-errors.ts`. */
  errors: readonly DomainErrorCode[]
  /** With an `Idempotency-Key`, repeats receive the first response; absent: the header is ignored. */
  idempotent?: true
  /**
   * The route handles the payment header itself; absent: the header pays for the request on `inference` routes and is
   * rejected elsewhere.
   */
  takesPayment?: true
  /** Compresses responses for clients that accept it; worth it only for large ones. */
  compressed?: true
  /** Parses the input, calls one service and returns the response. */
  handler: (exchange: Exchange) => Promise<Reply<Json>>
}

/** Checks that the handler's response matches `output`. */
export function defineRoute<Schema extends z.ZodType>(
  route: Route<z.output<Schema>> & { output: { json?: Schema } },
): Route {
  return route
}

/** How a body is read; the handler parses with the schema. A form is an object of its parts. */
export type RouteBody =
  | { kind: 'json'; limitBytes: number; schema: z.ZodType }
  | { kind: 'raw'; limitBytes: number }
  | { kind: 'multipart' | 'json-or-multipart'; limitBytes: number; schema: z.ZodType; form: MultipartBounds }

export interface MultipartBounds {
  partsMax: number
  /** Per file; texts have a limit of their own. */
  partBytesMax: number
  /** Names of the parts that may be files. */
  files: readonly string[]
}

/** The responses of a route; the client chooses if there is more than one. */
export interface RouteOutput<Json> {
  json?: z.ZodType<Json>
  /** Content types of whole bodies other than the JSON above. */
  content?: readonly string[]
  /** Content types of streamed bodies. */
  stream?: readonly string[]
}

/** Who counts a request in its windows, and which windows these are. */
export type RouteLimits = (
  | { counted: 'before_handler' | 'never'; plan: (exchange: Exchange, caller: Caller) => RatePlan }
  /** The service counts the request as it reserves its price. The plan is undefined while the model is unknown. */
  | { counted: 'by_service'; plan: (exchange: Exchange, caller: Caller) => RatePlan | undefined }
) & {
  /**
   * ethers reads Retry-After as milliseconds and would flood the service, so JSON-RPC clients get the window's numbers
   * instead.
   */
  noRetryAfter?: true
}

/** Routes that call no model and no node share one window of the account. */
export const MANAGEMENT_LIMITS: RouteLimits = {
  counted: 'before_handler',
  plan: ({ services }, caller) => services.limits.ratePlans.planForManagement(caller),
}

/** For routes that cost next to nothing: they show the management window without using it. */
export const SHOWN_LIMITS: RouteLimits = {
  counted: 'never',
  plan: ({ services }, caller) => services.limits.ratePlans.planForManagement(caller),
}

export const JSON_BODY_BYTES_MAX = 35 * 1024 * 1024
export const RPC_BODY_BYTES_MAX = 5 * 1024 * 1024
export const KEY_BODY_BYTES_MAX = 16 * 1024
