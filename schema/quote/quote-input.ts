import type { ImageQuality } from '../../server/domain/catalogue/model-definition.ts'
import { builder } from '../builder.ts'

/** One line per level, so that a new one does not compile until it is described. */
const QUALITIES: Record<Uppercase<ImageQuality>, { value: ImageQuality; description: string }> = {
  LOW: { value: 'low', description: 'The lowest price.' },
  MEDIUM: { value: 'medium', description: 'Medium quality and price.' },
  HIGH: { value: 'high', description: 'The highest quality.' },
}

export const ImageQualityEnum = builder.enumType('ImageQuality', {
  description: 'Quality of an image, for models with quality levels.',
  values: QUALITIES,
})

const ChatQuoteMessage = builder.inputType('ChatQuoteMessage', {
  description: 'A message of a chat request to quote.',
  fields: (t) => ({
    role: t.string({ required: true, description: '`system`, `user`, `assistant` and so on.' }),
    content: t.string({ required: true, description: 'The text of the message.' }),
  }),
})

const ChatQuoteInput = builder.inputType('ChatQuoteInput', {
  description: 'A chat request to quote: either its messages or their number of tokens.',
  fields: (t) => ({
    model: t.string({ required: true, description: 'Id, trait or alias of a text model.' }),
    messages: t.field({
      type: [ChatQuoteMessage],
      description: 'The messages, whose tokens are counted. Requires a credential.',
    }),
    promptTokens: t.int({ description: 'Number of tokens of the messages, instead of `messages`.' }),
    maxTokens: t.int({ description: "Maximum tokens of one choice; if absent, the model's maximum." }),
    choices: t.int({ required: true, defaultValue: 1, description: 'Number of choices (`n`).' }),
  }),
})

const ImageQuoteInput = builder.inputType('ImageQuoteInput', {
  description: 'Images to quote.',
  fields: (t) => ({
    model: t.string({ required: true, description: 'Id, trait or alias of an image model.' }),
    count: t.int({ required: true, defaultValue: 1, description: 'The number of images.' }),
    resolution: t.string({ description: "For models whose price depends on it; the model's default if absent." }),
    quality: t.field({
      type: ImageQualityEnum,
      description: "For models whose price depends on it; the model's default if absent.",
    }),
  }),
})

const RpcQuoteInput = builder.inputType('RpcQuoteInput', {
  description: 'A JSON-RPC body to quote.',
  fields: (t) => ({
    network: t.string({ required: true, description: 'The `slug` of a network.' }),
    body: t.string({ required: true, description: 'The body as text: a request object, or an array of at most 100.' }),
  }),
})

export const QuoteInput = builder.inputType('QuoteInput', {
  description: 'The request to quote. Set exactly one field.',
  isOneOf: true,
  fields: (t) => ({
    chat: t.field({ type: ChatQuoteInput, description: 'A chat request.' }),
    image: t.field({ type: ImageQuoteInput, description: 'Images.' }),
    rpc: t.field({ type: RpcQuoteInput, description: 'A JSON-RPC body.' }),
  }),
})
