import type { Config } from '../config/config.ts'
import type { BodyReader } from '../domain/bodies/body-reader.ts'
import type { Clock } from '../domain/clock.ts'
import type { LedgerService } from '../domain/ledger/ledger-service.ts'
import type { Log } from '../domain/log.ts'
import type { MeteredRuns } from '../domain/metering/metered-runs.ts'
import type { RateLimiter } from '../domain/rate-limits/rate-plan.ts'
import type { RatePlans } from '../domain/rate-limits/rate-plans.ts'
import { ImmutableCache } from '../domain/rpc/immutable-cache.ts'
import { MethodTable } from '../domain/rpc/method-table.ts'
import { createNetworkTable } from '../domain/rpc/networks.ts'
import { NodeInspector } from '../domain/rpc/node-inspector.ts'
import { NodeRouter } from '../domain/rpc/node-router.ts'
import { listPublicNodes } from '../domain/rpc/public-nodes.ts'
import { ReadCoalescer } from '../domain/rpc/read-coalescer.ts'
import type { RpcNode } from '../domain/rpc/rpc-node.ts'
import { RpcService } from '../domain/rpc/rpc-service.ts'
import { NodeSender, type SingleSender } from '../domain/rpc/single-sender.ts'
import { createCircuitBreaker } from '../upstream/inference/circuit-breaker.ts'
import { createRpcNodes } from '../upstream/rpc/rpc-node-client.ts'

export interface RpcParts {
  clock: Clock
  log: Log
  runs: MeteredRuns
  ratePlans: RatePlans
  rateLimits: RateLimiter
  ledger: LedgerService
  bodies: BodyReader
}

/**
 * The proxy over the configured nodes, with public nodes for networks that have none. A network without nodes is not
 * served.
 */
export function createRpcService(config: Config, parts: RpcParts) {
  const { clock, log, runs, ratePlans, rateLimits, ledger, bodies } = parts
  const { rpc } = config
  const nodes = createRpcNodes({ ...(rpc.publicNodes ? listPublicNodes(rpc.extraFamily) : {}), ...rpc.networks })
  const networks = new Map([...createNetworkTable(rpc.extraFamily)].filter(([slug]) => nodes.has(slug)))
  const router = new NodeRouter({ nodes, createBreaker: createCircuitBreaker, clock, log })
  const inspector = new NodeInspector({ networks, nodes, configured: new Set(Object.keys(rpc.networks)), router, log })
  const service = new RpcService({
    runs,
    ratePlans,
    rateLimiter: rateLimits,
    ledger,
    bodies,
    networks,
    methods: new MethodTable({ optionalMethods: rpc.optionalMethods }),
    nodes: router,
    singles: createSingleSender(config, { router, nodes, clock }),
    pricePerCreditNanoUsd: BigInt(rpc.pricePerCreditNanoUsd),
  })
  const close = async (): Promise<void> => {
    inspector.stop()
    await Promise.all([...nodes.values()].flat().map((node) => node.close()))
  }
  return { service, router, inspector, close }
}

interface SenderParts {
  router: NodeRouter
  nodes: ReadonlyMap<string, readonly RpcNode[]>
  clock: Clock
}

/** The cache comes before the coalescer, so a cached result starts no call. */
function createSingleSender({ rpc }: Config, { router, nodes, clock }: SenderParts): SingleSender {
  const nodeSender = new NodeSender(router)
  const shared = rpc.coalesceReads ? new ReadCoalescer(nodeSender) : nodeSender
  if (rpc.cacheImmutable === undefined) return shared
  return new ImmutableCache(shared, { ...rpc.cacheImmutable, nodes, clock })
}
