import { ConnectionError } from '../errors.ts'
import type { ApiPromise } from '../http/api-promise.ts'
import type { ResponseInfo } from '../http/response-info.ts'
import type { Repeat } from '../http/retry-policy.ts'
import type { Transport } from '../http/transport.ts'
import type { IdempotentRequestOptions, RequestOptions } from '../options.ts'
import { type RpcCall, RpcError, type RpcOutcome, type RpcResponseBody } from './rpc-types.ts'

/** Methods that write to a chain: a node that failed may have accepted them. */
const WRITES = /send|^starknet_add/i

/** A provider for viem's `custom()`, ethers' `BrowserProvider` and other EIP-1193 libraries. */
export interface RpcProvider {
  request: (call: { method: string; params?: unknown }) => Promise<unknown>
}

export interface RpcOptions extends IdempotentRequestOptions {
  /**
   * Returns integers beyond 2^53, which Solana uses, as bigint; otherwise they are rounded. Requires a platform whose
   * `JSON.parse` provides the source text: Node 22, Chrome 114, Firefox 135, Safari 18.4.
   */
  bigints?: boolean | undefined
}

export class Rpc {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Slugs of the networks, sorted. */
  networks(options?: RequestOptions): ApiPromise<string[]> {
    return this.#transport.request(
      { method: 'GET', path: '/api/v1/crypto/rpc/networks', repeat: 'safe', isPublic: true, options },
      ({ networks }: { networks: string[] }) => networks,
    )
  }

  /**
   * Calls one method of a node and returns its result. Throws RpcError if the node returns an error. Each call is
   * charged only once, however often it is retried: the service stores its response for 24 hours, unless
   * `idempotencyKey` is null.
   *
   * @example
   * const block = await sluice.rpc.request<string>('ethereum-mainnet', { method: 'eth_blockNumber' })
   */
  request<Result = unknown>(network: string, call: RpcCall, options?: RpcOptions): ApiPromise<Result> {
    const body = toBody(call, 1)
    return this.#post(network, { body, writes: WRITES.test(call.method), options }, (answer: RpcResponseBody, info) => {
      const outcome = toOutcome<Result>(answer, info)
      if (!outcome.ok) throw outcome.error
      return outcome.result
    })
  }

  /**
   * Calls up to 100 methods in one request. The outcomes have the order of the calls.
   *
   * @example
   * const [block, balance] = await sluice.rpc.batch('base-mainnet', [
   *   { method: 'eth_blockNumber' },
   *   { method: 'eth_getBalance', params: [address, 'latest'] },
   * ])
   * if (block?.ok) console.log(block.result)
   */
  batch(network: string, calls: readonly RpcCall[], options?: RpcOptions): ApiPromise<RpcOutcome[]> {
    const body = calls.map((call, index) => toBody(call, index + 1))
    const writes = calls.some(({ method }) => WRITES.test(method))
    return this.#post(network, { body, writes, options }, (answers: RpcResponseBody[], info) => {
      const byId = new Map(answers.map((answer) => [answer.id, answer]))
      return body.map(({ id }) => toOutcome(byId.get(id), info))
    })
  }

  /** One network as an EIP-1193 provider, for libraries that accept one. */
  provider(network: string, options?: RpcOptions): RpcProvider {
    return {
      request: ({ method, params }) =>
        this.request(network, { method, params: Array.isArray(params) ? params : undefined }, options),
    }
  }

  #post<Data>(
    network: string,
    parts: { body: unknown; writes: boolean; options: RpcOptions | undefined },
    toData: (body: never, response: ResponseInfo) => Data,
  ): ApiPromise<Data> {
    const { body, writes, options } = parts
    const repeat: Repeat = writes ? 'keyed_write' : 'keyed'
    const path = `/api/v1/crypto/rpc/${encodeURIComponent(network)}`
    return this.#transport.request({ method: 'POST', path, body, repeat, options, bigints: options?.bigints }, toData)
  }
}

function toBody({ method, params }: RpcCall, id: number): { id: number } {
  return { jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }) } as { id: number }
}

function toOutcome<Result>(answer: RpcResponseBody | undefined, response: ResponseInfo): RpcOutcome<Result> {
  if (answer === undefined) throw new ConnectionError('The node did not respond to every call')
  if (answer.error) return { ok: false, error: new RpcError(answer.error, response) }
  return { ok: true, result: answer.result as Result }
}
