import { BodyReader } from '../../server/domain/bodies/body-reader.ts'
import type { RequestContext } from '../../server/domain/caller.ts'
import { createIdSource } from '../../server/domain/ids.ts'
import { MeteredRuns } from '../../server/domain/metering/metered-runs.ts'
import { LimitTable } from '../../server/domain/rate-limits/limit-table.ts'
import { RateLimitService } from '../../server/domain/rate-limits/rate-limit-service.ts'
import { RatePlans } from '../../server/domain/rate-limits/rate-plans.ts'
import { MethodTable } from '../../server/domain/rpc/method-table.ts'
import { createNetworkTable } from '../../server/domain/rpc/networks.ts'
import { NodeRouter } from '../../server/domain/rpc/node-router.ts'
import type { RpcNode } from '../../server/domain/rpc/rpc-node.ts'
import { type RpcResponse, RpcService } from '../../server/domain/rpc/rpc-service.ts'
import { NodeSender, type SingleSender } from '../../server/domain/rpc/single-sender.ts'
import { MemoryWindowStore } from '../../server/store/memory/memory-window-store.ts'
import { createCircuitBreaker } from '../../server/upstream/inference/circuit-breaker.ts'
import { createRpcNodes, type NetworkNodes } from '../../server/upstream/rpc/rpc-node-client.ts'
import { keyCaller } from './callers.ts'
import { readText } from './drain.ts'
import { createFakeClock, type FakeClock } from './fake-clock.ts'
import { createFakeMetering } from './fake-metering.ts'
import { createRecordingLog } from './recording-log.ts'

interface RpcHarnessOptions {
  balanceNanoUsd?: bigint
  createSender?: (parts: {
    router: NodeRouter
    nodes: ReadonlyMap<string, readonly RpcNode[]>
    clock: FakeClock
  }) => SingleSender
}

/** The RPC service over real node clients, with the money path in memory. */
export function createRpcHarness(
  networks: Record<string, NetworkNodes>,
  { balanceNanoUsd = 1_000_000_000n, createSender = ({ router }) => new NodeSender(router) }: RpcHarnessOptions = {},
) {
  const clock = createFakeClock()
  const ids = createIdSource(clock)
  const metering = createFakeMetering(balanceNanoUsd)
  const log = createRecordingLog()
  const nodes = createRpcNodes(networks)
  const router = new NodeRouter({ nodes, createBreaker: createCircuitBreaker, clock, log })
  const service = new RpcService({
    runs: new MeteredRuns({ metering, clock, log }),
    ratePlans: new RatePlans(LimitTable.parse({})),
    rateLimiter: new RateLimitService({
      store: new MemoryWindowStore({ clock }),
      clock,
      refusals: { record: () => undefined },
    }),
    ledger: { balances: async () => [{ currency: 'usd', balanceNanoUsd: metering.balanceNanoUsd, heldNanoUsd: 0n }] },
    bodies: new BodyReader(),
    networks: createNetworkTable('robinhood'),
    methods: new MethodTable(),
    nodes: router,
    singles: createSender({ router, nodes, clock }),
    pricePerCreditNanoUsd: 625n,
  })
  const contextOf = (signal: AbortSignal): RequestContext => ({
    requestId: ids.requestId(),
    caller: keyCaller(),
    signal,
  })
  return {
    service,
    metering,
    clock,
    log,
    call: (network: string, body: string, signal = new AbortController().signal): Promise<RpcResponse> =>
      service.call(contextOf(signal), network, Buffer.from(body)),
    async [Symbol.asyncDispose]() {
      await Promise.all([...nodes.values()].flat().map((node) => node.close()))
    },
  }
}

export async function bodyText({ body }: RpcResponse): Promise<string> {
  return Buffer.isBuffer(body) ? body.toString() : readText(body)
}
