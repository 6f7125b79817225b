import { LRUCache } from 'lru-cache'
import type { Clock } from '../clock.ts'
import type { RpcNetwork } from './networks.ts'
import type { RoutedAnswer } from './node-router.ts'
import type { RpcNode } from './rpc-node.ts'
import type { SingleAnswer, WholeAnswer } from './single-answer.ts'
import { type SingleRequest, type SingleSender, sharingKey, underIdOf } from './single-sender.ts'

/** For each read by hash, the result members that contain the hash and the block number. */
const READS_BY_HASH: ReadonlyMap<string, { hash: string; blockNumber: string }> = new Map([
  ['eth_getTransactionReceipt', { hash: 'transactionHash', blockNumber: 'blockNumber' }],
  ['eth_getTransactionByHash', { hash: 'hash', blockNumber: 'blockNumber' }],
  ['eth_getBlockByHash', { hash: 'hash', blockNumber: 'number' }],
])
const CHAIN_ID_READS: ReadonlySet<string> = new Set(['eth_chainId', 'net_version'])

const FINALISED_REQUEST = Buffer.from(
  '{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["finalized",false]}',
)
const FINALISED_BYTES_MAX = 4_194_304
const FINALISED_FRESH_MS = 30_000
const FINALISED_TIMEOUT_MS = 10_000
/** Memory of an entry besides its bytes. */
const ENTRY_BYTES = 256

export interface ImmutableCacheOptions {
  /** Limit for keys and results. */
  maxBytes: number
  /** By network slug; finality is asked of the node that gave the result. */
  nodes: ReadonlyMap<string, readonly RpcNode[]>
  clock: Clock
}

/**
 * Serves results that can no longer change from memory, at the normal price. It caches `eth_chainId` and `net_version` if
 * they match the network, and receipts, transactions and blocks by hash if they contain the requested hash and their
 * block is not above the one that the same node calls `finalized`. A null result, an error, and everything on a chain
 * whose node knows no `finalized` block always go to a node.
 */
export class ImmutableCache implements SingleSender {
  readonly #inner: SingleSender
  readonly #nodes: ReadonlyMap<string, readonly RpcNode[]>
  readonly #clock: Clock
  readonly #answers: LRUCache<string, WholeAnswer>
  /** Number of the latest finalized block, by node id. */
  readonly #finalised = new Map<string, { number: bigint | undefined; atMs: number }>()

  constructor(inner: SingleSender, { maxBytes, nodes, clock }: ImmutableCacheOptions) {
    this.#inner = inner
    this.#nodes = nodes
    this.#clock = clock
    this.#answers = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: ({ bytes }, key) => bytes.length + key.length + ENTRY_BYTES,
    })
  }

  async send(request: SingleRequest): Promise<RoutedAnswer<SingleAnswer>> {
    const { name } = request.call.method
    const key = CHAIN_ID_READS.has(name) || READS_BY_HASH.has(name) ? sharingKey(request) : undefined
    if (key === undefined) return this.#inner.send(request)
    const kept = this.#answers.get(key)
    if (kept !== undefined) return { value: underIdOf(request, kept), nodeId: 'cache', retries: 0 }
    const routed = await this.#inner.send(request)
    const { value, nodeId } = routed
    if (value.shape === 'whole' && value.kind === 'result') {
      // Runs in parallel, so that asking the node again does not delay the response.
      this.#isFinal(request, value, nodeId).then(
        (final) => final && this.#answers.set(key, { ...value, bytes: ownCopy(value.bytes) }),
        () => undefined,
      )
    }
    return routed
  }

  async #isFinal({ plan, call }: SingleRequest, answer: WholeAnswer, nodeId: string): Promise<boolean> {
    const { result } = JSON.parse(answer.bytes.toString()) as { result: unknown }
    if (CHAIN_ID_READS.has(call.method.name)) return namesChain(result, plan.network)
    const fields = READS_BY_HASH.get(call.method.name)
    const params = call.item.params
    if (fields === undefined || params === null || typeof result !== 'object' || result === null) return false
    const [asked] = JSON.parse(plan.body.toString('utf8', params.start, params.end)) as unknown[]
    const { [fields.hash]: hash, [fields.blockNumber]: blockNumber } = result as Record<string, unknown>
    if (!isText(asked) || !isText(hash) || asked.toLowerCase() !== hash.toLowerCase()) return false
    const height = toHeight(blockNumber)
    if (height === undefined) return false
    const finalised = await this.#finalisedHeight(plan.network.slug, nodeId)
    return finalised !== undefined && height <= finalised
  }

  async #finalisedHeight(slug: string, nodeId: string): Promise<bigint | undefined> {
    const known = this.#finalised.get(nodeId)
    const nowMs = this.#clock.nowMs()
    if (known !== undefined && nowMs - known.atMs < FINALISED_FRESH_MS) return known.number
    const node = this.#nodes.get(slug)?.find(({ id }) => id === nodeId)
    if (node === undefined) return undefined
    // The old value stays in use meanwhile, so that only one query runs at a time.
    this.#finalised.set(nodeId, { number: known?.number, atMs: nowMs })
    const number = await askFinalisedHeight(node)
    this.#finalised.set(nodeId, { number, atMs: nowMs })
    return number
  }
}

async function askFinalisedHeight(node: RpcNode): Promise<bigint | undefined> {
  const { body } = await node.send(FINALISED_REQUEST, AbortSignal.timeout(FINALISED_TIMEOUT_MS))
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > FINALISED_BYTES_MAX) return undefined
    chunks.push(chunk)
  }
  const answer = JSON.parse(Buffer.concat(chunks).toString()) as { result?: { number?: unknown } | null }
  return toHeight(answer.result?.number)
}

/** Copies the bytes, because a view would keep the whole socket buffer alive. */
function ownCopy(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(copy)
  return copy
}

function namesChain(result: unknown, network: RpcNetwork): boolean {
  return isText(result) && /^(?:0x[0-9a-f]+|[0-9]+)$/i.test(result) && String(BigInt(result)) === network.chainId
}

function toHeight(value: unknown): bigint | undefined {
  return isText(value) && /^0x[0-9a-f]{1,16}$/i.test(value) ? BigInt(value) : undefined
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}
