import { isRecord } from '../openai-wire/completion-text.ts'

const CHOICE_WORDS: Readonly<Record<string, string>> = {
  auto: 'auto',
  none: 'none',
  required: 'required',
  any: 'required',
}

/**
 * Converts a function tool to OpenAI's chat form. Clients of similar APIs omit the `function` wrapper, and Anthropic's
 * call the schema `input_schema`. Other tools pass unchanged.
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

/** Converts `{type: "auto"}` to the string, and a flat function choice to the nested form. */
export function toOpenAiToolChoice(choice: Record<string, unknown>): unknown {
  const { type, name } = choice
  if (typeof type !== 'string' || isRecord(choice['function'])) return choice
  if ((type === 'function' || type === 'tool') && typeof name === 'string')
    return { type: 'function', function: { name } }
  return CHOICE_WORDS[type] ?? choice
}
