import type { z } from 'zod'
import type { Caller } from '../server/domain/caller.ts'
import type { DomainErrorCode } from '../server/domain/errors.ts'
import type { RatePlan } from '../server/domain/rate-limits/rate-plan.ts'
import type { Exchange } from './exchange.ts'
import type { Reply } from './reply.ts'

/**
 * Who may call a route:
 * `public` nobody is identified; `optional` a key is used when sent; `inference` any key or a wallet;
 * `wallet` the wallet that the path names; `any_key` any key; `admin` an ADMIN key.
 */
export type Access = 'public' | 'optional' | 'inference' | 'wallet' | 'any_key' | 'admin'

/** One REST operation: all that clients, tests and the OpenAPI document need to know of it, and its handler. */
export interface Route<Json = unknown> {
  method: 'get' | 'post' | 'patch' | 'delete'
  /** Path below `/api/v1`: `:name` takes one segment, `*name` the rest. */
  path: string
  /** One line for the OpenAPI document. */
  summary: string
  access: Access
  /** The rate windows of the route's callers, which its responses show; null where nobody is limited by name. */
  limits: RouteLimits | null
  /** The handler parses with the same schemas. */
  parameters?: { path?: z.ZodObject; query?: z.ZodType }
  /** Absent: the route reads no body. */
  body?: RouteBody
  /** The body of a response with status 200. */
  output: RouteOutput<Json>
  /** Codes of its service; those that follow from the rest of the declaration are in `route-errors.ts`. */
  errors: readonly DomainErrorCode[]
  /** An `Idempotency-Key` makes repeats get the first answer; absent: the header means nothing. */
  idempotent?: true
  /** A payment header is the route's own business; absent: it pays for the request on `inference` routes and is refused elsewhere. */
  takesPayment?: true
  /** Answers are compressed for clients that ask for it; worth it only for large ones. */
  compressed?: true
  /** Parses what came in, calls one service and says what to respond. */
  handler: (exchange: Exchange) => Promise<Reply<Json>>
}

/** Checks that the handler responds as `output` says. */
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
  /** Of one file; texts have a limit of their own. */
  partBytesMax: number
  /** Names of the parts that may be files. */
  files: readonly string[]
}

/** What a route may send, by the client's choice where it is more than one. */
export interface RouteOutput<Json> {
  json?: z.ZodType<Json>
  /** Content types of whole bodies other than the JSON above. */
  content?: readonly string[]
  /** Content types of bodies that are sent as they come. */
  stream?: readonly string[]
}

/** Who counts a request in its windows, and which windows these are. */
export type RouteLimits = (
  | { counted: 'before_handler' | 'never'; plan: (exchange: Exchange, caller: Caller) => RatePlan }
  /** The service counts the request as it reserves its price. The plan is undefined while the model is not known. */
  | { counted: 'by_service'; plan: (exchange: Exchange, caller: Caller) => RatePlan | undefined }
) & {
  /** ethers reads Retry-After as milliseconds and storms, so clients of nodes get the numbers of the window instead. */
  noRetryAfter?: true
}

/** Routes that call no model and no node share one window of the account. */
export const MANAGEMENT_LIMITS: RouteLimits = {
  counted: 'before_handler',
  plan: ({ services }, caller) => services.limits.ratePlans.planForManagement(caller),
}

/** For what costs next to nothing: the window of management is shown, and not used. */
export const SHOWN_LIMITS: RouteLimits = {
  counted: 'never',
  plan: ({ services }, caller) => services.limits.ratePlans.planForManagement(caller),
}

export const JSON_BODY_BYTES_MAX = 35 * 1024 * 1024
export const RPC_BODY_BYTES_MAX = 5 * 1024 * 1024
export const KEY_BODY_BYTES_MAX = 16 * 1024
