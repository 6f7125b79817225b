import type { Clock } from '../clock.ts'
import { DomainError } from '../errors.ts'
import type { CircuitBreaker, CircuitState } from '../inference/providers/circuit-breaker.ts'
import type { Log } from '../log.ts'
import { UpstreamRecord, type UpstreamSummary } from '../upstream-record.ts'
import type { NodeAnswer, RpcNode } from './rpc-node.ts'

export interface NodeRequest {
  network: string
  body: Buffer
  /** True if the body changes a chain; it is then never sent to a second node. */
  write: boolean
  signal: AbortSignal
}

/** Reads as much of a response as needed to use it; undefined if it is not a JSON-RPC response. */
export type AnswerReader<T> = (answer: NodeAnswer) => Promise<T | undefined>

export interface RoutedAnswer<T> {
  value: T
  nodeId: string
  /** Number of nodes that failed before this one. */
  retries: number
}

interface RoutedNode {
  node: RpcNode
  breaker: CircuitBreaker
  record: UpstreamRecord
}

export interface NodeHealth extends UpstreamSummary {
  nodeId: string
  network: string
  circuit: CircuitState
  /** False while the node reports another chain. */
  inService: boolean
}

interface FailedAttempt {
  healthy: boolean
  failure: string
  cause?: unknown
}

type Attempt<T> = { healthy: true; failure?: undefined; value: T } | FailedAttempt

export interface NodeRouterDeps {
  /** In order of preference, by network slug. */
  nodes: ReadonlyMap<string, readonly RpcNode[]>
  createBreaker: () => CircuitBreaker
  clock: Clock
  log: Log
}

/**
 * Sends a body to the first node of a network that responds. Reads fail over after a failed connection, a timeout, 429,
 * 5xx, rejected credentials or an invalid response; writes never do, because a node that failed to respond may have
 * forwarded the transaction. Open circuits are skipped; if all are open, the first node is tried.
 */
export class NodeRouter {
  readonly #nodes: ReadonlyMap<string, readonly RoutedNode[]>
  readonly #refused = new Set<string>()
  readonly #clock: Clock
  readonly #log: Log

  constructor({ nodes, createBreaker, clock, log }: NodeRouterDeps) {
    this.#nodes = new Map(
      [...nodes].map(([slug, list]) => [
        slug,
        list.map((node) => ({ node, breaker: createBreaker(), record: new UpstreamRecord() })),
      ]),
    )
    this.#clock = clock
    this.#log = log
  }

  /** All nodes, in order of preference within their network. */
  health(): NodeHealth[] {
    return [...this.#nodes].flatMap(([network, list]) =>
      list.map(({ node, breaker, record }) => ({
        nodeId: node.id,
        network,
        circuit: breaker.state,
        inService: !this.#refused.has(node.id),
        ...record.summary(),
      })),
    )
  }

  /** Takes a node out of service until `readmit` or the end of this process. */
  refuse(nodeId: string): void {
    this.#refused.add(nodeId)
  }

  /** True if the node was out of service. */
  readmit(nodeId: string): boolean {
    return this.#refused.delete(nodeId)
  }

  /** Batch size that every node of the network accepts. */
  batchItemsMax(network: string): number {
    return Math.min(...this.#inService(network).map(({ node }) => node.batchItemsMax))
  }

  /**
   * Fails with `rpc_upstream_failed` (which contains no text from the nodes) or `unavailable` if the network has no node.
   * If the caller aborts, the reason passes through: check `signal.aborted` first.
   */
  async send<T>(request: NodeRequest, read: AnswerReader<T>): Promise<RoutedAnswer<T>> {
    const nodes = this.#inService(request.network)
    const [first] = nodes
    if (first === undefined) {
      throw new DomainError('unavailable', `No node of ${request.network} is available; choose another network`)
    }
    let retries = 0
    for (const routed of nodes) {
      const { node, breaker } = routed
      const attempt = await breaker.run(() => this.#attempt(routed, request, read))
      if (attempt === undefined) continue
      if (attempt.failure === undefined) return { value: attempt.value, nodeId: node.id, retries }
      this.#logFailure(node, attempt)
      if (request.write) throw nodeFailure(request.network)
      retries += 1
    }
    if (retries > 0) throw nodeFailure(request.network)
    const attempt = await this.#attempt(first, request, read)
    if (attempt.failure === undefined) return { value: attempt.value, nodeId: first.node.id, retries: 0 }
    this.#logFailure(first.node, attempt)
    throw nodeFailure(request.network)
  }

  #inService(network: string): readonly RoutedNode[] {
    const nodes = this.#nodes.get(network) ?? []
    return this.#refused.size === 0 ? nodes : nodes.filter(({ node }) => !this.#refused.has(node.id))
  }

  async #attempt<T>(
    { node, record }: RoutedNode,
    { body, signal }: NodeRequest,
    read: AnswerReader<T>,
  ): Promise<Attempt<T>> {
    const startedMs = this.#clock.nowMs()
    try {
      const answer = await node.send(body, signal)
      const failure = judgeStatus(answer.status)
      if (failure !== undefined) {
        await letGo(answer.body)
        record.failed(this.#clock.nowMs(), failure.failure)
        return failure
      }
      const value = await read(answer)
      if (value !== undefined) {
        record.succeeded(startedMs, this.#clock.nowMs())
        return { healthy: true, value }
      }
      const unusable = `status ${answer.status} without a JSON-RPC response`
      record.failed(this.#clock.nowMs(), unusable)
      return { healthy: false, failure: unusable }
    } catch (cause) {
      if (signal.aborted) throw cause
      record.failed(this.#clock.nowMs(), 'no complete response')
      return { healthy: false, failure: 'no complete response', cause }
    }
  }

  #logFailure(node: RpcNode, attempt: FailedAttempt): void {
    this.#log.warn('rpc node failed', { nodeId: node.id, failure: attempt.failure, cause: attempt.cause })
  }
}

/** Statuses for which another node may succeed; the rest are read, since a 4xx may carry a JSON-RPC error. */
function judgeStatus(status: number): FailedAttempt | undefined {
  const refused = status === 401 || status === 402 || status === 403
  if (status !== 429 && !refused && status < 500) return undefined
  return { healthy: status === 429, failure: `status ${status}` }
}

/** Leaving the loop at the first chunk aborts the upstream request. */
async function letGo(body: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    for await (const _ of body) break
  } catch {
    // A broken connection is closed as well.
  }
}

function nodeFailure(network: string): DomainError {
  const message = `No node of ${network} returned a usable response; nothing was charged, try again`
  return new DomainError('rpc_upstream_failed', message)
}
