import type { Receipt } from '../../../metering/hold.ts'
import type { MeasuredChatUsage } from '../usage/chat-usage.ts'

/** A piece of one tool call; all pieces of a call share its index. */
export interface ToolCallDelta {
  index: number
  id: string | undefined
  name: string | undefined
  arguments: string
}

export interface ChatDelta {
  choice: number
  content: string
  reasoning: string
  refusal: string
  toolCalls: readonly ToolCallDelta[]
  /** Null until the choice ends. */
  finishReason: string | null
}

/** A part of a stream as received; its deltas are read only for wire formats that cannot pass its bytes. */
export interface ChatPassage {
  readonly bytes: Buffer
  deltas(): ChatDelta[]
}

/** The events of a stream, in this order; `failed` may replace everything after the first `said`. */
export type ChatStreamEvent =
  | { kind: 'said'; passage: ChatPassage }
  /** The provider ended choices; the charge is durable from here on. */
  | { kind: 'finished'; passage: ChatPassage }
  /** The balance ran out before these choices ended. */
  | { kind: 'cut'; choices: readonly number[] }
  | { kind: 'charged'; usage: MeasuredChatUsage; receipt: Receipt }
  | { kind: 'failed'; error: unknown }
  | { kind: 'ended' }

export interface StreamIdentity {
  id: string
  createdSeconds: number
  model: string
}

/** Encodes events in one wire format; each stream has its own encoder, which may keep state. */
export type EncodeChatStream = (events: readonly ChatStreamEvent[], identity: () => StreamIdentity) => Buffer
