/** Every string of a message or a delta that counts as completion tokens. */
export function completionText(part: unknown): string {
  if (!isRecord(part)) return ''
  const { content, reasoning_content: thinking, reasoning, refusal, tool_calls: calls, function_call: call } = part
  // Some providers send the same reasoning under both names.
  const thoughts = typeof thinking === 'string' ? thinking : reasoning
  let text = contentText(content) + stringOf(thoughts) + stringOf(refusal) + functionText(call)
  for (const item of Array.isArray(calls) ? calls : []) {
    if (isRecord(item)) text += functionText(item['function'])
  }
  return text
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function contentText(content: unknown): string {
  if (typeof content === 'string') return content
  return Array.isArray(content) ? content.map((part) => (isRecord(part) ? stringOf(part['text']) : '')).join('') : ''
}

function functionText(call: unknown): string {
  return isRecord(call) ? stringOf(call['name']) + stringOf(call['arguments']) : ''
}

function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
