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
  description: 'What a request would cost. Nothing is sent, held or charged.',
  fields: (t) => ({
    price: t.expose('priceNanoUsd', {
      type: 'Usd',
      description: 'What it is expected to cost; of a chat with as many tokens as the details say.',
    }),
    priceNanoUsd: t.expose('priceNanoUsd', { type: 'NanoUsd', description: '`price` in nano-USD.' }),
    hold: t.expose('holdNanoUsd', {
      type: 'Usd',
      description:
        'What is set aside before it runs, which the free balance must cover; the rest is freed when it ends.',
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
      'The price of a request before it is sent, checked as the request would be. Needs no credential, but for messages that must be counted; with a key, its models are those that may be quoted.',
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
    // Counting takes time that only the owner of a rate window may have.
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
