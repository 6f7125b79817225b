import { BaseError, HttpRequestError, ResponseBodyTooLargeError, RpcRequestError, TimeoutError } from 'viem'

/**
 * Internal error, resource not found or unavailable, limit exceeded, and HTTP statuses that some nodes use as codes.
 */
const BUSY_CODES = new Set([-32_603, -32_001, -32_002, -32_005, 429, 503])
/** The same in words, for nodes that use one code for everything. */
const BUSY_WORDS =
  /rate.?limit|limit exceeded|too many requests|capacity|timed? ?out|unavailable|header not found|missing trie node/i

/** The call itself failed, whatever the code. */
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
