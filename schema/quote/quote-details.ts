import type { ChatQuote, ImageQuote } from '../../server/domain/inference/quotes/quote-service.ts'
import type { RpcQuote } from '../../server/domain/rpc/rpc-quote.ts'
import { builder } from '../builder.ts'
import { PricedMethodType } from '../rpc/priced-method.ts'
import { RpcNetworkType } from '../rpc/rpc-network.ts'
import { ImageQualityEnum } from './quote-input.ts'

export const RpcQuoteType = builder.objectRef<RpcQuote>('RpcQuote').implement({
  description: 'The price of a JSON-RPC body, call by call.',
  fields: (t) => ({
    network: t.expose('network', { type: RpcNetworkType, description: 'The network of the body.' }),
    credits: t.exposeInt('credits', { description: 'All calls together, if each of them succeeds.' }),
    calls: t.expose('calls', {
      type: [PricedMethodType],
      description: 'One for each request, in order.',
      // At most 100, the maximum of a batch.
      complexity: { field: 1, multiplier: 100 },
    }),
  }),
})

export const ChatQuoteType = builder.objectRef<ChatQuote>('ChatQuote').implement({
  description: 'The price of a chat request. Its hold has a margin for providers that count tokens differently.',
  fields: (t) => ({
    modelId: t.string({ description: 'The model that would serve the request.', resolve: ({ model }) => model.id }),
    promptTokens: t.exposeInt('promptTokens', { description: 'Tokens of the prompt.' }),
    completionTokens: t.exposeInt('expectedCompletionTokens', {
      description:
        'Completion tokens of all choices together that `price` assumes: the requested limit, or a typical length.',
    }),
  }),
})

export const ImageQuoteType = builder.objectRef<ImageQuote>('ImageQuote').implement({
  description: 'The price of images.',
  fields: (t) => ({
    modelId: t.string({ description: 'The model that would serve the request.', resolve: ({ model }) => model.id }),
    count: t.exposeInt('count', { description: 'The number of images.' }),
    resolution: t.exposeString('resolution', {
      nullable: true,
      description: 'The one that is priced; null if the price does not depend on it.',
    }),
    quality: t.expose('quality', {
      type: ImageQualityEnum,
      nullable: true,
      description: 'The one that is priced; null if the price does not depend on it.',
    }),
    unitPrice: t.expose('priceNanoUsd', { type: 'Usd', description: 'The price of one image.' }),
    unitPriceNanoUsd: t.expose('priceNanoUsd', { type: 'NanoUsd', description: '`unitPrice` in nano-USD.' }),
  }),
})
