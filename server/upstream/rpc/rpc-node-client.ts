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
  /** Credentials in it, as user and password or in path and query, are sent and never shown. */
  url: string
  /** Items that the node takes in one batch; 1 when it takes none. */
  batchItemsMax?: number | undefined
  /** True unless the operator said that it may serve another chain than its network. */
  checkChain?: boolean | undefined
  /** Bounds the whole response; of a large one that is passed on already, each wait for more of it. */
  timeoutSeconds?: number | undefined
  headers?: Readonly<Record<string, string>> | undefined
}

/** A JSON-RPC node over HTTP. Redirects are never followed: they would carry keys elsewhere. */
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

/** Bytes pass through untouched, so a compressed answer is of no use here. */
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

/** The configured nodes by network slug, in order of preference; they are called `<slug>#1` and so on. */
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
