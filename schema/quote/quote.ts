import { ChatQuoteInput, ImageQuoteInput } from '../../server/domain/inference/quotes/quote-inputs.ts'
import type { ChatQuote, ImageQuote } from '../../server/domain/inference/quotes/quote-service.ts'
import type { RpcQuote } from '../../server/domain/rpc/rpc-quote.ts'
import { parseInput } from '../../server/domain/validation/parse-input.ts'
import { builder } from '../builder.ts'
import { type GraphQLContext, requireCaller } from '../context.ts'
import { ChatQuoteType, ImageQuoteType, RpcQuoteType } from './quote-details.ts'
import { QuoteInput } from './quote-input.ts'

interface Quote {
  holdNanoUsd: bigint
  priceNanoUsd: bigint
  chat?: ChatQuote
  image?: ImageQuote
  rpc?: RpcQuote
}

const QuoteType = builder.objectRef<Quote>('Quote').implement({
  description: 'The price of a request. Nothing is sent, held or charged.',
  fields: (t) => ({
    price: t.expose('priceNanoUsd', {
      type: 'Usd',
      description: 'The expected price; for a chat, with the number of tokens given in its details.',
    }),
    priceNanoUsd: t.expose('priceNanoUsd', { type: 'NanoUsd', description: '`price` in nano-USD.' }),
    hold: t.expose('holdNanoUsd', {
      type: 'Usd',
      description:
        'The amount held before the request runs. The free balance must cover it; the unspent part is released when the request ends.',
    }),
    holdNanoUsd: t.expose('holdNanoUsd', { type: 'NanoUsd', description: '`hold` in nano-USD.' }),
    chat: t.field({
      type: ChatQuoteType,
      nullable: true,
      description: 'The details of a chat request.',
      resolve: ({ chat }) => chat ?? null,
    }),
    image: t.field({
      type: ImageQuoteType,
      nullable: true,
      description: 'The details of images.',
      resolve: ({ image }) => image ?? null,
    }),
    rpc: t.field({
      type: RpcQuoteType,
      nullable: true,
      description: 'The details of a JSON-RPC body.',
      resolve: ({ rpc }) => rpc ?? null,
    }),
  }),
})

builder.queryField('quote', (t) =>
  t.field({
    type: QuoteType,
    description:
      'The price of a request before it is sent, with the same checks as the request. A credential is required only for messages whose tokens must be counted; a key can only quote the models that it may use.',
    args: { input: t.arg({ type: QuoteInput, required: true, description: 'The request.' }) },
    resolve: (_root, { input }, context) => quote(input, context),
  }),
)

async function quote(input: typeof QuoteInput.$inferInput, context: GraphQLContext): Promise<Quote> {
  const {
    inference: { quotes },
    rpc: { proxy: rpc },
  } = context.services
  const modelPrivacy = context.caller?.modelPrivacy ?? 'ALL'
  if (input.chat != null) {
    // Counting takes time, so it requires a credential and its rate window.
    if (input.chat.messages != null) requireCaller(context)
    const chat = await quotes.chat(modelPrivacy, parseInput(ChatQuoteInput, input.chat))
    return { holdNanoUsd: chat.holdNanoUsd, priceNanoUsd: chat.expected.amountNanoUsd, chat }
  }
  if (input.image != null) {
    const image = quotes.image(modelPrivacy, parseInput(ImageQuoteInput, input.image))
    return { holdNanoUsd: image.totalNanoUsd, priceNanoUsd: image.totalNanoUsd, image }
  }
  const { network, body } = input.rpc ?? { network: '', body: '' }
  const quoted = rpc.quote(network, Buffer.from(body))
  return { holdNanoUsd: quoted.priceNanoUsd, priceNanoUsd: quoted.priceNanoUsd, rpc: quoted }
}
