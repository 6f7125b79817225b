import { BaseError, createPublicClient, custom, HttpRequestError, RpcRequestError, TimeoutError } from 'viem'
import type { EvmClient } from './evm-chain.ts'

/** Internal error, resource not found or unavailable, limit exceeded, and the statuses of HTTP that some nodes write here. */
const BUSY_CODES = new Set([-32_603, -32_001, -32_002, -32_005, 429, 503])
/** The same in words, of nodes that have one code for everything. */
const BUSY_WORDS =
  /rate.?limit|limit exceeded|too many requests|capacity|timed? ?out|unavailable|header not found|missing trie node/i

/** What a call came to, under whatever code. */
const FAILED_CALL = /revert|out ?of ?gas/i

/** No answer came, or one that only says so, as opposed to one about the call or the transaction. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof BaseError && error.walk(isLost) !== null
}

/** The same client, which tells of each read that stayed unanswered, also where the libraries above it turn that into another answer. */
export function observing(client: EvmClient, onUnanswered: (error: unknown) => void): EvmClient {
  const request = async (call: Parameters<EvmClient['request']>[0]): Promise<unknown> => {
    try {
      return await client.request(call)
    } catch (error) {
      if (isUnanswered(error)) onUnanswered(error)
      throw error
    }
  }
  const { cacheTime, pollingInterval } = client
  return createPublicClient({ transport: custom({ request }, { retryCount: 0 }), cacheTime, pollingInterval })
}

function isLost(cause: unknown): boolean {
  if (cause instanceof HttpRequestError || cause instanceof TimeoutError) return true
  if (!(cause instanceof RpcRequestError) || FAILED_CALL.test(cause.details)) return false
  return BUSY_CODES.has(cause.code) || BUSY_WORDS.test(cause.details)
}
