import type { RpcTier } from '../../server/domain/rpc/rpc-pricing.ts'
import type { PricedMethod } from '../../server/domain/rpc/rpc-quote.ts'
import { builder } from '../builder.ts'

/** One line per tier, so that a new tier does not compile until it is described. */
const TIERS: Record<Uppercase<RpcTier>, { value: RpcTier; description: string }> = {
  STANDARD: { value: 'standard', description: 'The base credits of the network.' },
  ADVANCED: { value: 'advanced', description: 'Twice the base credits: traces and debugging.' },
  LARGE: { value: 'large', description: 'Four times the base credits: replays and whole lists.' },
}

const RpcTierEnum = builder.enumType('RpcTier', { description: 'Price class of a method.', values: TIERS })

export const PricedMethodType = builder.objectRef<PricedMethod>('RpcMethod').implement({
  description: 'A JSON-RPC method with its price on one network. A call that returns an error costs 5 credits instead.',
  fields: (t) => ({
    name: t.exposeString('method', { description: 'The method name as used in a request.' }),
    tier: t.expose('tier', { type: RpcTierEnum, description: 'Its price class.' }),
    credits: t.exposeInt('credits', { description: 'Base credits of the network times the factor of the tier.' }),
    price: t.expose('priceNanoUsd', { type: 'Usd', description: 'The price of a call in USD.' }),
    priceNanoUsd: t.expose('priceNanoUsd', { type: 'NanoUsd', description: '`price` in nano-USD.' }),
  }),
})
