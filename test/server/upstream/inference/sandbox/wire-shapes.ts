import { z } from 'zod'

const Count = z.int().min(0)

const Usage = z.strictObject({
  prompt_tokens: Count,
  completion_tokens: Count,
  total_tokens: Count,
  prompt_tokens_details: z.strictObject({ cached_tokens: Count }),
  completion_tokens_details: z.strictObject({ reasoning_tokens: Count }),
})

const FinishReason = z.enum(['stop', 'length', 'tool_calls', 'content_filter'])
const ToolCall = z.strictObject({
  id: z.string().regex(/^call_[0-9a-f]{24}$/),
  type: z.literal('function'),
  function: z.strictObject({ name: z.string(), arguments: z.string() }),
})

/** `chat.completion` as OpenAI's reference has it; strict, so that a stray field fails the test. */
export const ChatCompletion = z.strictObject({
  id: z.string().regex(/^chatcmpl-[0-9a-f]{32}$/),
  object: z.literal('chat.completion'),
  created: z.int().positive(),
  model: z.string(),
  choices: z
    .array(
      z.strictObject({
        index: Count,
        message: z.strictObject({
          role: z.literal('assistant'),
          content: z.string().nullable(),
          reasoning_content: z.string().optional(),
          tool_calls: z.array(ToolCall).min(1).optional(),
        }),
        logprobs: z.null(),
        finish_reason: FinishReason,
      }),
    )
    .min(1),
  usage: Usage.optional(),
})

export const ChatChunk = z.strictObject({
  id: z.string(),
  object: z.literal('chat.completion.chunk'),
  created: z.int().positive(),
  model: z.string(),
  choices: z.array(
    z.strictObject({
      index: Count,
      delta: z.strictObject({
        role: z.literal('assistant').optional(),
        content: z.string().nullish(),
        reasoning_content: z.string().optional(),
        tool_calls: z
          .array(
            z.strictObject({
              index: Count,
              id: z.string().optional(),
              type: z.literal('function').optional(),
              function: z.strictObject({ name: z.string().optional(), arguments: z.string() }),
            }),
          )
          .optional(),
      }),
      logprobs: z.null(),
      finish_reason: FinishReason.nullable(),
    }),
  ),
  usage: Usage.optional(),
})
export type ChatChunk = z.output<typeof ChatChunk>

export const Embeddings = z.strictObject({
  object: z.literal('list'),
  model: z.string(),
  data: z.array(
    z.strictObject({
      object: z.literal('embedding'),
      index: Count,
      embedding: z.union([z.array(z.number()), z.string()]),
    }),
  ),
  usage: z.strictObject({ prompt_tokens: Count, total_tokens: Count }),
})
