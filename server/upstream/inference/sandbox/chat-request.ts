import { z } from 'zod'

const Part = z.looseObject({ type: z.string(), text: z.string().optional() })
const Content = z.union([z.string(), z.array(Part)]).nullish()

const Message = z.looseObject({
  role: z.string(),
  content: Content,
  name: z.string().nullish(),
  tool_call_id: z.string().nullish(),
  tool_calls: z
    .array(z.looseObject({ id: z.string().optional(), function: z.looseObject({ name: z.string() }) }))
    .nullish(),
})
export type Message = z.output<typeof Message>

const Tool = z.looseObject({
  function: z.looseObject({ name: z.string(), parameters: z.record(z.string(), z.unknown()).nullish() }),
})
export type Tool = z.output<typeof Tool>

const NamedTool = z.looseObject({ function: z.looseObject({ name: z.string() }) })

/** The fields of a chat request that the sandbox uses; everything else is accepted and ignored, as real servers do. */
export const ChatRequest = z.looseObject({
  model: z.string(),
  messages: z.array(Message).min(1),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  max_tokens: z.int().positive().nullish(),
  max_completion_tokens: z.int().positive().nullish(),
  n: z.int().min(1).max(128).nullish(),
  stop: z.union([z.string(), z.array(z.string())]).nullish(),
  tools: z.array(z.looseObject({})).nullish(),
  tool_choice: z.union([z.string(), NamedTool]).nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  response_format: z
    .looseObject({ type: z.string(), json_schema: z.record(z.string(), z.unknown()).nullish() })
    .nullish(),
  reasoning_effort: z.string().nullish(),
  reasoning: z.looseObject({ effort: z.string().nullish(), enabled: z.boolean().nullish() }).nullish(),
  chat_template_kwargs: z.looseObject({ enable_thinking: z.boolean().nullish() }).nullish(),
})
export type ChatRequest = z.output<typeof ChatRequest>

export function textOf(message: Message): string {
  if (typeof message.content === 'string') return message.content
  return (message.content ?? []).map((part) => part.text ?? '').join('\n')
}

export function lastUserText(request: ChatRequest): string {
  const message = request.messages.findLast(({ role }) => role === 'user')
  return message === undefined ? '' : textOf(message)
}

/** Function tools; the platform handles tools of other kinds. */
export function functionTools(request: ChatRequest): Tool[] {
  return (request.tools ?? []).flatMap((tool) => {
    const parsed = Tool.safeParse(tool)
    return parsed.success ? [parsed.data] : []
  })
}

/**
 * Models with reasoning in their names always think, others when an effort is requested; either can be switched off.
 */
export function wantsReasoning(request: ChatRequest): boolean {
  if (refusesReasoning(request)) return false
  const effort = request.reasoning_effort ?? request.reasoning?.effort
  return effort != null || request.reasoning?.enabled === true || /reason|think/i.test(request.model)
}

export function refusesReasoning(request: ChatRequest): boolean {
  const effort = request.reasoning_effort ?? request.reasoning?.effort
  if (effort === 'none' || request.reasoning?.enabled === false) return true
  return request.chat_template_kwargs?.enable_thinking === false
}
