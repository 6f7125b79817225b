import { BaseError, HttpRequestError, ResponseBodyTooLargeError, RpcRequestError, TimeoutError } from 'viem'

/** Internal error, resource not found or unavailable, limit exceeded, and the statuses of HTTP that some nodes write here. */
const BUSY_CODES = new Set([-32_603, -32_001, -32_002, -32_005, 429, 503])
/** The same in words, of nodes that have one code for everything. */
const BUSY_WORDS =
  /rate.?limit|limit exceeded|too many requests|capacity|timed? ?out|unavailable|header not found|missing trie node/i

/** What a call came to, under whatever code. */
const FAILED_CALL = /revert|out ?of ?gas/i

/** Whether the node gave no response, or one that says nothing about the call or the transaction. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof BaseError && error.walk(isLost) !== null
}

function isLost(cause: unknown): boolean {
  if (cause instanceof HttpRequestError || cause instanceof TimeoutError) return true
  if (cause instanceof ResponseBodyTooLargeError) return true
  if (!(cause instanceof RpcRequestError) || FAILED_CALL.test(cause.details)) return false
  return BUSY_CODES.has(cause.code) || BUSY_WORDS.test(cause.details)
}
