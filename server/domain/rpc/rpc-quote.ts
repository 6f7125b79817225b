import type { CallPlan } from './call-plan.ts'
import type { MethodTable } from './method-table.ts'
import type { RpcNetwork } from './networks.ts'
import { creditsOf, type RpcTier } from './rpc-pricing.ts'

export interface PricedMethod {
  method: string
  tier: RpcTier
  credits: number
  priceNanoUsd: bigint
}

/** The price of a body if every call succeeds; each error item makes it cheaper. */
export interface RpcQuote {
  network: RpcNetwork
  batch: boolean
  calls: PricedMethod[]
  credits: number
  priceNanoUsd: bigint
}

export function priceMethods(network: RpcNetwork, methods: MethodTable, pricePerCreditNanoUsd: bigint): PricedMethod[] {
  return methods
    .list(network.family)
    .map(({ name, tier }) =>
      priced({ method: name, tier, credits: creditsOf(network.baseCredits, tier) }, pricePerCreditNanoUsd),
    )
    .toSorted((a, b) => (a.method < b.method ? -1 : 1))
}

export function quotePlan({ network, batch, calls, credits }: CallPlan, pricePerCreditNanoUsd: bigint): RpcQuote {
  return {
    network,
    batch,
    calls: calls.map((call) =>
      priced({ method: call.method.name, tier: call.method.tier, credits: call.credits }, pricePerCreditNanoUsd),
    ),
    credits,
    priceNanoUsd: BigInt(credits) * pricePerCreditNanoUsd,
  }
}

function priced(method: Omit<PricedMethod, 'priceNanoUsd'>, pricePerCreditNanoUsd: bigint): PricedMethod {
  return { ...method, priceNanoUsd: BigInt(method.credits) * pricePerCreditNanoUsd }
}
