import { type Dispatcher, Pool } from 'undici'
import type { NodeAnswer, RpcNode } from '../../domain/rpc/rpc-node.ts'
import { Exchange } from '../inference/exchange.ts'

const DEFAULT_TIMEOUT_SECONDS = 30
const DEFAULT_BATCH_ITEMS_MAX = 100
const CONNECT_TIMEOUT_MS = 5_000
const MAX_CONNECTIONS = 512

export interface RpcNodeOptions {
  /** Appears in logs and receipts, so it must not name the host. */
  id: string
  /** Credentials in it (user and password, path or query) are sent but never shown. */
  url: string
  /** Maximum items of a batch; 1 if the node accepts no batches. */
  batchItemsMax?: number | undefined
  /** True unless the operator allows the node to serve a chain other than its network's. */
  checkChain?: boolean | undefined
  /** Limits the whole response; once a large one is being forwarded, each wait for more of it. */
  timeoutSeconds?: number | undefined
  headers?: Readonly<Record<string, string>> | undefined
}

/** A JSON-RPC node over HTTP. Redirects are never followed, because they would carry keys elsewhere. */
export function createRpcNode(options: RpcNodeOptions): RpcNode {
  const { id, batchItemsMax = DEFAULT_BATCH_ITEMS_MAX, timeoutSeconds = DEFAULT_TIMEOUT_SECONDS } = options
  const url = new URL(options.url)
  const timeoutMs = timeoutSeconds * 1_000
  const pool = new Pool(url.origin, {
    connections: MAX_CONNECTIONS,
    pipelining: 1,
    allowH2: false,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    connect: { timeout: Math.min(CONNECT_TIMEOUT_MS, timeoutMs) },
  })
  const path = `${url.pathname}${url.search}`
  const headers = requestHeaders(url, options.headers)

  return {
    id,
    batchItemsMax,
    checkChain: options.checkChain ?? true,
    async send(body, signal): Promise<NodeAnswer> {
      signal.throwIfAborted()
      const request: Dispatcher.DispatchOptions = { method: 'POST', path, headers, body }
      const exchange = new Exchange(signal, timeoutMs)
      const answer = await exchange.run(pool, request)
      return { status: answer.status, body: answer.body, startStream: exchange.startStream }
    },
    close: () => pool.destroy(),
  }
}

/** Bytes pass through untouched, so a compressed response would be of no use here. */
function requestHeaders(url: URL, extra: Readonly<Record<string, string>> = {}): string[] {
  const headers = ['content-type', 'application/json', 'accept', 'application/json', 'accept-encoding', 'identity']
  if (url.username !== '' || url.password !== '') {
    const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
    headers.push('authorization', `Basic ${Buffer.from(credentials).toString('base64')}`)
  }
  return [...headers, ...Object.entries(extra).flat()]
}

export interface NetworkNodes {
  upstreams: readonly {
    url: string
    maxBatch?: number | undefined
    checkChain?: boolean | undefined
    timeoutSeconds?: number | undefined
    headers?: Record<string, string> | undefined
  }[]
}

/** The configured nodes by network slug, in order of preference; their ids are `<slug>#1` and so on. */
export function createRpcNodes(networks: Readonly<Record<string, NetworkNodes>>): Map<string, RpcNode[]> {
  return new Map(
    Object.entries(networks).map(([slug, { upstreams }]) => [
      slug,
      upstreams.map(({ maxBatch, ...rest }, index) =>
        createRpcNode({ ...rest, id: `${slug}#${index + 1}`, batchItemsMax: maxBatch }),
      ),
    ]),
  )
}
