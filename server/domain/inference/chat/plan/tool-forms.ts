import { isRecord } from '../openai-wire/completion-text.ts'

const CHOICE_WORDS: Readonly<Record<string, string>> = {
  auto: 'auto',
  none: 'none',
  required: 'required',
  any: 'required',
}

/**
 * A function tool in OpenAI's chat form. Clients of neighbouring APIs send its members without the `function` around them,
 * and Anthropic's call the schema `input_schema`. Every other tool passes as it is.
 */
export function toOpenAiTool(tool: unknown): unknown {
  if (!isRecord(tool) || isRecord(tool['function']) || typeof tool['name'] !== 'string') return tool
  const { type, name, description, parameters, input_schema: schema, strict, ...rest } = tool
  const isFunction =
    type === 'function' || ((type === undefined || type === null || type === 'custom') && isRecord(schema))
  if (!isFunction) return tool
  const members = { name, description, parameters: parameters ?? schema, strict }
  const given = Object.entries(members).filter(([, value]) => value !== undefined && value !== null)
  return { ...rest, type: 'function', function: Object.fromEntries(given) }
}

/** `{type: "auto"}` stands for the string, and a flat choice of a function for the nested one. */
export function toOpenAiToolChoice(choice: Record<string, unknown>): unknown {
  const { type, name } = choice
  if (typeof type !== 'string' || isRecord(choice['function'])) return choice
  if ((type === 'function' || type === 'tool') && typeof name === 'string')
    return { type: 'function', function: { name } }
  return CHOICE_WORDS[type] ?? choice
}
