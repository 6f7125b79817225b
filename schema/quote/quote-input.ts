import type { ImageQuality } from '../../server/domain/catalogue/model-definition.ts'
import { builder } from '../builder.ts'

/** One line per level, so that a new one does not compile until it is described. */
const QUALITIES: Record<Uppercase<ImageQuality>, { value: ImageQuality; description: string }> = {
  LOW: { value: 'low', description: 'The cheapest.' },
  MEDIUM: { value: 'medium', description: 'Between the two.' },
  HIGH: { value: 'high', description: 'The best.' },
}

export const ImageQualityEnum = builder.enumType('ImageQuality', {
  description: 'How good an image is made, for models that have levels.',
  values: QUALITIES,
})

const ChatQuoteMessage = builder.inputType('ChatQuoteMessage', {
  description: 'A message of a chat that might be sent.',
  fields: (t) => ({
    role: t.string({ required: true, description: '`system`, `user`, `assistant` and so on.' }),
    content: t.string({ required: true, description: 'Its text.' }),
  }),
})

const ChatQuoteInput = builder.inputType('ChatQuoteInput', {
  description: 'A chat request that might be sent: its messages, or how many tokens they have.',
  fields: (t) => ({
    model: t.string({ required: true, description: 'Id, trait or mapped name of a text model.' }),
    messages: t.field({
      type: [ChatQuoteMessage],
      description: 'Its messages, which are counted. Needs a credential.',
    }),
    promptTokens: t.int({ description: 'Tokens of its messages, in their place.' }),
    maxTokens: t.int({ description: 'Most tokens of one answer; absent is up to what the model can.' }),
    choices: t.int({ required: true, defaultValue: 1, description: 'Answers asked for (`n`).' }),
  }),
})

const ImageQuoteInput = builder.inputType('ImageQuoteInput', {
  description: 'Images that might be made.',
  fields: (t) => ({
    model: t.string({ required: true, description: 'Id, trait or mapped name of an image model.' }),
    count: t.int({ required: true, defaultValue: 1, description: 'How many.' }),
    resolution: t.string({ description: "For models that are priced by it; absent is the model's default." }),
    quality: t.field({
      type: ImageQualityEnum,
      description: "For models that are priced by it; absent is the model's default.",
    }),
  }),
})

const RpcQuoteInput = builder.inputType('RpcQuoteInput', {
  description: 'A JSON-RPC body that might be sent.',
  fields: (t) => ({
    network: t.string({ required: true, description: 'The `slug` of a network.' }),
    body: t.string({ required: true, description: 'The body as text: a request object, or an array of at most 100.' }),
  }),
})

export const QuoteInput = builder.inputType('QuoteInput', {
  description: 'What to quote: exactly one of its fields.',
  isOneOf: true,
  fields: (t) => ({
    chat: t.field({ type: ChatQuoteInput, description: 'A chat request.' }),
    image: t.field({ type: ImageQuoteInput, description: 'Images.' }),
    rpc: t.field({ type: RpcQuoteInput, description: 'A JSON-RPC body.' }),
  }),
})
