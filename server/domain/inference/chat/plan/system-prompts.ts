import type { ChatMessage } from './chat-message.ts'

/**
 * Puts the service's default prompts before the caller's. A leading system message of the caller is merged into the same
 * message, because many models' templates accept only one.
 */
export function withSystemPrompts(messages: readonly ChatMessage[], prompts: readonly string[]): ChatMessage[] {
  if (prompts.length === 0) return [...messages]
  const text = prompts.join('\n\n')
  const [first, ...rest] = messages
  if (first?.role !== 'system') return [{ role: 'system', content: text }, ...messages]
  const content =
    typeof first.content === 'string'
      ? [text, first.content].filter(Boolean).join('\n\n')
      : [{ type: 'text', text }, ...(first.content ?? [])]
  return [{ ...first, content }, ...rest]
}
