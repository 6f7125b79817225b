import { type Chain, createPublicClient, custom, http, type PublicClient, TimeoutError } from 'viem'

const CALL_TIMEOUT_MS = 10_000
/** Several times the largest response that is needed: a receipt with thousands of logs. */
const RESPONSE_BYTES_MAX = 4_194_304

export type EvmClient = PublicClient

export interface EvmClientOptions {
  /** Gives viem the addresses of the chain's helper contracts. */
  chain?: Chain
  /** How often a call without a response is retried. */
  retryCount?: number
  /** For each call, the response body included. */
  timeoutMs?: number
}

/**
 * The only way to an EVM node. Contracts and nodes cannot make it call another address: off-chain lookups (EIP-3668)
 * are disabled and redirects rejected. Each call has a deadline and a size limit, both including its body.
 */
export function createEvmClient(
  url: string,
  { chain, retryCount = 1, timeoutMs = CALL_TIMEOUT_MS }: EvmClientOptions = {},
): EvmClient {
  const transport = http(url, {
    timeout: timeoutMs,
    retryCount,
    maxResponseBodySize: RESPONSE_BYTES_MAX,
    fetchFn: fetchWithin(timeoutMs),
  })
  // A cached read, even a second old, could miss the transfer that is being checked.
  return createPublicClient({ ...chainOf(chain), transport, cacheTime: 0, pollingInterval: 500, ccipRead: false })
}

/**
 * The same client for one operation, whose calls all end when the signal aborts. Failed calls are reported, because
 * libraries above the client may turn them into a result.
 */
export function createScopedClient(
  client: EvmClient,
  signal: AbortSignal,
  onFailure: (error: unknown) => void = () => {},
): EvmClient {
  const request = async (call: Parameters<EvmClient['request']>[0]): Promise<unknown> => {
    try {
      return await client.request(call, { signal })
    } catch (cause) {
      const error = signal.aborted ? new TimeoutError({ body: {}, url: '' }) : cause
      onFailure(error)
      throw error
    }
  }
  const { cacheTime, pollingInterval } = client
  const transport = custom({ request }, { retryCount: 0 })
  return createPublicClient({ ...chainOf(client.chain), transport, cacheTime, pollingInterval, ccipRead: false })
}

/** viem's own timeout ends with the response headers, so a node could send the body forever. */
function fetchWithin(timeoutMs: number): typeof fetch {
  return (input, init) => {
    const deadline = AbortSignal.timeout(timeoutMs)
    const signal = init?.signal == null ? deadline : AbortSignal.any([init.signal, deadline])
    return fetch(input, { ...init, redirect: 'error', signal })
  }
}

function chainOf(chain: Chain | undefined): { chain?: Chain } {
  return chain === undefined ? {} : { chain }
}
