import type { ChatQuote, ImageQuote } from '../../server/domain/inference/quotes/quote-service.ts'
import type { RpcQuote } from '../../server/domain/rpc/rpc-quote.ts'
import { builder } from '../builder.ts'
import { PricedMethodType } from '../rpc/priced-method.ts'
import { RpcNetworkType } from '../rpc/rpc-network.ts'
import { ImageQualityEnum } from './quote-input.ts'

export const RpcQuoteType = builder.objectRef<RpcQuote>('RpcQuote').implement({
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

export const ChatQuoteType = builder.objectRef<ChatQuote>('ChatQuote').implement({
  description: 'What a chat request costs. Its hold has a margin for providers that count otherwise.',
  fields: (t) => ({
    modelId: t.string({ description: 'The model that would serve it.', resolve: ({ model }) => model.id }),
    promptTokens: t.exposeInt('promptTokens', { description: 'Tokens of the prompt.' }),
    completionTokens: t.exposeInt('expectedCompletionTokens', {
      description:
        'Tokens of all answers together that `price` is for: the limit that was asked for, or an ordinary answer.',
    }),
  }),
})

export const ImageQuoteType = builder.objectRef<ImageQuote>('ImageQuote').implement({
  description: 'What images cost.',
  fields: (t) => ({
    modelId: t.string({ description: 'The model that would serve it.', resolve: ({ model }) => model.id }),
    count: t.exposeInt('count', { description: 'How many.' }),
    resolution: t.exposeString('resolution', {
      nullable: true,
      description: 'The one that is priced; null where the price does not depend on it.',
    }),
    quality: t.expose('quality', {
      type: ImageQualityEnum,
      nullable: true,
      description: 'The one that is priced; null where the price does not depend on it.',
    }),
    unitPrice: t.expose('priceNanoUsd', { type: 'Usd', description: 'Of one image.' }),
    unitPriceNanoUsd: t.expose('priceNanoUsd', { type: 'NanoUsd', description: '`unitPrice` in nano-USD.' }),
  }),
})
