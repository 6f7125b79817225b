import { z } from 'zod'

const Choice = z.looseObject({
  index: z.number(),
  message: z.looseObject({ role: z.string() }),
  finish_reason: z.string().nullable(),
  logprobs: z.unknown(),
})

/** The fields that clients can rely on; everything else from the provider is passed on as well. */
export const ChatCompletionBody: z.ZodType<Record<string, unknown>> = z.looseObject({
  id: z.string(),
  object: z.literal('chat.completion'),
  created: z.number(),
  model: z.string(),
  choices: z.array(Choice),
  usage: z.looseObject({ prompt_tokens: z.number(), completion_tokens: z.number(), total_tokens: z.number() }),
  cost: z.object({ usd: z.number(), diem: z.number() }),
})
