import { z } from 'zod'
import { IMAGE_QUALITIES } from '../../catalogue/model-definition.ts'
import { CHOICES_MAX } from '../chat/plan/chat-request.ts'

const TOKENS_MAX = 100_000_000
const MESSAGES_MAX = 1_000
const IMAGES_MAX = 100
const NAME_CHARACTERS_MAX = 256

const ModelName = z.string().min(1).max(NAME_CHARACTERS_MAX)
const Tokens = z.int().min(1).max(TOKENS_MAX)

/** A chat request, by its messages or by the size of its prompt. */
export const ChatQuoteInput = z
  .strictObject({
    model: ModelName,
    messages: z
      .array(z.strictObject({ role: z.string(), content: z.string() }))
      .min(1)
      .max(MESSAGES_MAX)
      .nullish(),
    promptTokens: Tokens.nullish(),
    maxTokens: Tokens.nullish(),
    choices: z.int().min(1).max(CHOICES_MAX).default(1),
  })
  .refine(({ messages, promptTokens }) => (messages == null) !== (promptTokens == null), {
    path: ['promptTokens'],
    error: 'provide either messages or promptTokens, not both',
  })
export type ChatQuoteInput = z.output<typeof ChatQuoteInput>

export const ImageQuoteInput = z.strictObject({
  model: ModelName,
  count: z.int().min(1).max(IMAGES_MAX).default(1),
  resolution: z.string().min(1).max(NAME_CHARACTERS_MAX).nullish(),
  quality: z.enum(IMAGE_QUALITIES).nullish(),
})
export type ImageQuoteInput = z.output<typeof ImageQuoteInput>
