import type { RpcQuote } from '../../server/domain/rpc/rpc-quote.ts'
import { builder } from '../builder.ts'
import { PricedMethodType } from '../rpc/priced-method.ts'
import { RpcNetworkType } from '../rpc/rpc-network.ts'

interface Quote {
  priceNanoUsd: bigint
  rpc: RpcQuote | null
}

const RpcQuoteInput = builder.inputType('RpcQuoteInput', {
  description: 'A JSON-RPC body that might be sent.',
  fields: (t) => ({
    network: t.string({ required: true, description: 'The `slug` of a network.' }),
    body: t.string({ required: true, description: 'The body as text: a request object, or an array of at most 100.' }),
  }),
})

const QuoteInput = builder.inputType('QuoteInput', {
  description: 'What to quote: exactly one of its fields.',
  isOneOf: true,
  fields: (t) => ({
    rpc: t.field({ type: RpcQuoteInput, description: 'A JSON-RPC body.' }),
  }),
})

const RpcQuoteType = builder.objectRef<RpcQuote>('RpcQuote').implement({
  description: 'What a JSON-RPC body costs, call by call.',
  fields: (t) => ({
    network: t.expose('network', { type: RpcNetworkType, description: 'Where it would be sent.' }),
    credits: t.exposeInt('credits', { description: 'All calls together, if each of them succeeds.' }),
    calls: t.expose('calls', {
      type: [PricedMethodType],
      description: 'One for each request, in order.',
      // At most 100 by the rule of batches.
      complexity: { field: 1, multiplier: 100 },
    }),
  }),
})

const QuoteType = builder.objectRef<Quote>('Quote').implement({
  description: 'What a request would cost. Nothing is sent, held or charged.',
  fields: (t) => ({
    price: t.expose('priceNanoUsd', {
      type: 'Usd',
      description: 'The most that it costs, which is what the balance must cover.',
    }),
    priceNanoUsd: t.expose('priceNanoUsd', { type: 'NanoUsd', description: '`price` in nano-USD.' }),
    rpc: t.expose('rpc', { type: RpcQuoteType, nullable: true, description: 'The details of a JSON-RPC body.' }),
  }),
})

builder.queryField('quote', (t) =>
  t.field({
    type: QuoteType,
    description: 'The price of a request before it is sent, checked as the request would be. Needs no credential.',
    args: { input: t.arg({ type: QuoteInput, required: true, description: 'The request.' }) },
    resolve: (_root, { input }, { services }): Quote => {
      const rpc = services.rpc.quote(input.rpc.network, Buffer.from(input.rpc.body))
      return { priceNanoUsd: rpc.priceNanoUsd, rpc }
    },
  }),
)
