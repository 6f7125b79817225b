import type { StreamIdentity } from '../stream/chat-stream-events.ts'

export function toChunk({ id, createdSeconds, model }: StreamIdentity, choices: object[]): Record<string, unknown> {
  return { id, object: 'chat.completion.chunk', created: createdSeconds, model, choices }
}

export function toFrame(chunk: object): Buffer {
  return Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`)
}

/** A whole response as one chunk, for a provider that does not stream. */
export function responseChunk(
  identity: StreamIdentity,
  choices: readonly Record<string, unknown>[],
): Record<string, unknown> {
  const deltas = choices.map(({ message, ...choice }) => ({ ...choice, delta: withIndexedCalls(message) }))
  return toChunk(identity, deltas)
}

/** Adds an index to each tool call, because clients use it to join the pieces of a call. */
function withIndexedCalls(message: unknown): unknown {
  if (typeof message !== 'object' || message === null || !('tool_calls' in message)) return message
  const calls: unknown = message.tool_calls
  if (!Array.isArray(calls)) return message
  return { ...message, tool_calls: calls.map((call: object, index) => ({ index, ...call })) }
}
