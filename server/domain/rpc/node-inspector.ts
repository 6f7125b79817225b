import type { Log } from '../log.ts'
import { identityMethod, identityRequest, readIdentity } from './chain-identity.ts'
import type { RpcNetwork } from './networks.ts'
import type { NodeRouter } from './node-router.ts'
import type { RpcNode } from './rpc-node.ts'

const ANSWER_BYTES_MAX = 65_536
const CHECK_TIMEOUT_MS = 10_000
const RETRY_MS = 60_000

export interface NodeReport {
  nodeId: string
  network: string
  /** `public`: one of the nodes that the chain publishes. */
  origin: 'configured' | 'public'
  status: 'matches' | 'mismatch' | 'unreachable'
  /** In the form of `RpcNetwork.chainId`. */
  expected: string
  /** Null if the node did not report a chain. */
  found: string | null
  detail: string
}

export interface NodeInspectorDeps {
  networks: ReadonlyMap<string, RpcNetwork>
  /** By network slug. */
  nodes: ReadonlyMap<string, readonly RpcNode[]>
  /** Slugs of networks whose nodes the operator configured. */
  configured: ReadonlySet<string>
  router: Pick<NodeRouter, 'refuse' | 'readmit'>
  log: Log
}

/**
 * Asks nodes which chain they serve (`eth_chainId`, `starknet_chainId`, `getGenesisHash`). A node of another chain is
 * taken out of service until it reports its own, because its responses would look right and be wrong. An unresponsive
 * node stays in use, since failover handles it, and is asked again.
 */
export class NodeInspector {
  readonly #deps: NodeInspectorDeps
  readonly #stopped = new AbortController()
  #timer: NodeJS.Timeout | undefined

  constructor(deps: NodeInspectorDeps) {
    this.#deps = deps
  }

  /** Checks the configured nodes in the background, and unresponsive ones once a minute until they respond. */
  start(): void {
    this.#watch(this.#list(false), true).catch((error: unknown) => {
      this.#deps.log.error('the check of rpc nodes failed', { error })
    })
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#stopped.abort()
  }

  /** Checks the configured nodes now, and optionally the public ones. */
  async inspect(options: { publicNodes?: boolean } = {}): Promise<NodeReport[]> {
    const reports = await Promise.all(this.#list(options.publicNodes === true).map((entry) => this.#check(entry)))
    for (const report of reports) this.#judge(report)
    return reports
  }

  #list(publicNodes: boolean): Inspected[] {
    const { networks, nodes, configured } = this.#deps
    return [...nodes].flatMap(([slug, list]) => {
      const network = networks.get(slug)
      if (network === undefined || (!publicNodes && !configured.has(slug))) return []
      const checked = list.filter((node) => node.checkChain)
      return checked.map((node) => ({ node, network, origin: configured.has(slug) ? 'configured' : 'public' }) as const)
    })
  }

  async #watch(entries: readonly Inspected[], first: boolean): Promise<void> {
    const silent: Inspected[] = []
    await Promise.all(
      entries.map(async (entry) => {
        const report = await this.#check(entry)
        this.#judge(report)
        if (report.status === 'unreachable') silent.push(entry)
        if (report.status === 'unreachable' && first && !this.#stopped.signal.aborted)
          this.#deps.log.warn('rpc node could not be checked; it stays in use, and the check is retried', { ...report })
      }),
    )
    if (silent.length === 0 || this.#stopped.signal.aborted) return
    this.#timer = setTimeout(() => void this.#watch(silent, false), RETRY_MS)
    this.#timer.unref()
  }

  #judge(report: NodeReport): void {
    const { router, log } = this.#deps
    if (report.status === 'mismatch') {
      router.refuse(report.nodeId)
      log.error('rpc node serves another chain and is not used', { ...report })
    }
    if (report.status === 'matches' && router.readmit(report.nodeId))
      log.info('rpc node serves its chain again and is used', { ...report })
  }

  async #check({ node, network, origin }: Inspected): Promise<NodeReport> {
    const about = { nodeId: node.id, network: network.slug, origin, expected: network.chainId }
    const method = identityMethod(network.family)
    try {
      const found = await this.#ask(node, network)
      if (found === undefined) {
        return { ...about, status: 'unreachable', found: null, detail: `returned no usable response to ${method}` }
      }
      if (found === network.chainId) return { ...about, status: 'matches', found, detail: `serves ${network.caip2}` }
      const detail = `${method} returned ${found}, but ${network.slug} is ${network.chainId}: configure another node`
      return { ...about, status: 'mismatch', found, detail }
    } catch (error) {
      return {
        ...about,
        status: 'unreachable',
        found: null,
        detail: `did not respond to ${method} (${reasonOf(error)})`,
      }
    }
  }

  async #ask(node: RpcNode, network: RpcNetwork): Promise<string | undefined> {
    const signal = AbortSignal.any([this.#stopped.signal, AbortSignal.timeout(CHECK_TIMEOUT_MS)])
    const { status, body } = await node.send(identityRequest(network.family), signal)
    const chunks: Uint8Array[] = []
    let size = 0
    for await (const chunk of body) {
      size += chunk.length
      if (size > ANSWER_BYTES_MAX) return undefined
      chunks.push(chunk)
    }
    return status === 200 ? readIdentity(network.family, Buffer.concat(chunks)) : undefined
  }
}

/** Prefers a code such as ECONNREFUSED, because transport messages contain unrelated details. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  if (!(cause instanceof Error)) return 'unknown failure'
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.name
}

interface Inspected {
  node: RpcNode
  network: RpcNetwork
  origin: NodeReport['origin']
}
