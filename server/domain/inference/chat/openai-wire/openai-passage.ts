import type { ChatDelta, ChatPassage, ToolCallDelta } from '../stream/chat-stream-events.ts'
import { isRecord } from './completion-text.ts'
import { frameData, splitFrames } from './sse-frames.ts'

export class OpenAiPassage implements ChatPassage {
  readonly bytes: Buffer

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  deltas(): ChatDelta[] {
    return splitFrames(this.bytes).flatMap((frame) => choicesOf(frame).filter(isRecord).map(toDelta))
  }
}

/** The choices of one frame; empty for comments and for bytes that no client can read. */
export function choicesOf(frame: Buffer): readonly unknown[] {
  const data = frameData(frame)
  // Skips comments cheaply: parsing thousands of them would throw thousands of exceptions.
  if (data?.trimStart().startsWith('{') !== true) return []
  try {
    const chunk: unknown = JSON.parse(data)
    return isRecord(chunk) && Array.isArray(chunk['choices']) ? chunk['choices'] : []
  } catch {
    return []
  }
}

function toDelta({ index, delta, finish_reason: reason }: Record<string, unknown>): ChatDelta {
  const said = isRecord(delta) ? delta : {}
  const calls = Array.isArray(said['tool_calls']) ? said['tool_calls'] : []
  return {
    choice: typeof index === 'number' ? index : 0,
    content: textOf(said['content']),
    // Some providers send the same reasoning under both names.
    reasoning: textOf(said['reasoning_content'] ?? said['reasoning']),
    refusal: textOf(said['refusal']),
    toolCalls: calls.filter(isRecord).map(toToolCall),
    finishReason: typeof reason === 'string' && reason !== '' ? reason : null,
  }
}

function toToolCall({ index, id, function: call }: Record<string, unknown>, position: number): ToolCallDelta {
  const { name, arguments: json } = isRecord(call) ? call : {}
  return {
    index: typeof index === 'number' ? index : position,
    id: typeof id === 'string' ? id : undefined,
    name: typeof name === 'string' ? name : undefined,
    arguments: textOf(json),
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
