import type { Config } from '../config/config.ts'
import type { Clock } from '../domain/clock.ts'
import type { Log } from '../domain/log.ts'
import type { Metering } from '../domain/metering/metered-request.ts'
import type { RatePlans } from '../domain/rate-limits/rate-plans.ts'
import { MethodTable } from '../domain/rpc/method-table.ts'
import { createNetworkTable } from '../domain/rpc/networks.ts'
import { NodeRouter } from '../domain/rpc/node-router.ts'
import { RpcService } from '../domain/rpc/rpc-service.ts'
import { createCircuitBreaker } from '../upstream/inference/circuit-breaker.ts'
import { createRpcNodes } from '../upstream/rpc/rpc-node-client.ts'

export interface RpcParts {
  clock: Clock
  log: Log
  metering: Metering
  ratePlans: RatePlans
}

export function createRpcService(config: Config, { clock, log, metering, ratePlans }: RpcParts) {
  const nodes = createRpcNodes(config.rpc.networks)
  const service = new RpcService({
    metering,
    ratePlans,
    networks: createNetworkTable(config.rpc.extraFamily),
    methods: new MethodTable(),
    nodes: new NodeRouter({ nodes, createBreaker: createCircuitBreaker, log }),
    clock,
    pricePerCreditNanoUsd: BigInt(config.rpc.pricePerCreditNanoUsd),
  })
  const close = async (): Promise<void> => {
    await Promise.all([...nodes.values()].flat().map((node) => node.close()))
  }
  return { service, close }
}
