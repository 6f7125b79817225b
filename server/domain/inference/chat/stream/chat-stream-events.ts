import type { Receipt } from '../../../metering/hold.ts'
import type { MeasuredChatUsage } from '../usage/chat-usage.ts'

/** A piece of one tool call; the pieces of a call have the same index. */
export interface ToolCallDelta {
  index: number
  id: string | undefined
  name: string | undefined
  /** A piece of the JSON. */
  arguments: string
}

/** What a model says next in one of its choices. */
export interface ChatDelta {
  /** Position of the choice. */
  choice: number
  content: string
  reasoning: string
  refusal: string
  toolCalls: readonly ToolCallDelta[]
  /** Null while the choice goes on. */
  finishReason: string | null
}

/** A stretch of a stream as it came: its deltas are read only for wires that cannot pass its bytes. */
export interface ChatPassage {
  /** Whole frames of an event stream in OpenAI's form. */
  readonly bytes: Buffer
  deltas(): ChatDelta[]
}

/** What happens in a stream, in this order; `failed` may take the place of everything after the first `said`. */
export type ChatStreamEvent =
  | { kind: 'said'; passage: ChatPassage }
  /** The charge is durable from here on. The provider ended choices. */
  | { kind: 'finished'; passage: ChatPassage }
  /** The money ended before these choices did. */
  | { kind: 'cut'; choices: readonly number[] }
  | { kind: 'charged'; usage: MeasuredChatUsage; receipt: Receipt }
  | { kind: 'failed'; error: unknown }
  | { kind: 'ended' }

/** What every event of one stream may name. */
export interface StreamIdentity {
  id: string
  createdSeconds: number
  /** Our id of the model. */
  model: string
}

/** Writes events in the form of one wire; one stream has one encoder, which may count what it wrote. */
export type EncodeChatStream = (events: readonly ChatStreamEvent[], identity: () => StreamIdentity) => Buffer
