import { SluiceError } from '../errors.ts'
import type { ResponseInfo } from '../http/response-info.ts'

export interface RpcCall {
  method: string
  params?: readonly unknown[] | undefined
}

/** The node's response to one call of a batch. */
export type RpcOutcome<Result = unknown> = { ok: true; result: Result } | { ok: false; error: RpcError }

/** The node rejected a call, which costs 5 credits. `code` and `data` come from the node. */
export class RpcError extends SluiceError {
  override readonly name = 'RpcError'
  readonly code: number
  readonly data: unknown
  readonly response: ResponseInfo | null

  constructor(
    { code, message, data }: { code: number; message: string; data?: unknown },
    response: ResponseInfo | null,
  ) {
    super(message)
    this.code = code
    this.data = data
    this.response = response
  }
}

/** One response of a node; some nodes send `"error": null` with the result. */
export interface RpcResponseBody {
  id: unknown
  result?: unknown
  error?: { code: number; message: string; data?: unknown } | null
}
