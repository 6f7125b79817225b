import { DomainError, type DomainErrorCode } from '../../../errors.ts'
import type { ChatStreamEvent, EncodeChatStream, StreamIdentity } from '../stream/chat-stream-events.ts'
import { usageBody } from '../usage/chat-usage.ts'
import { costBody } from './chat-completion.ts'
import { toChunk, toFrame } from './chunk.ts'

const DONE_FRAME = Buffer.from('data: [DONE]\n\n')

/** OpenAI's `chat.completion.chunk` events. The model's content passes byte for byte. */
export const encodeOpenAiStream: EncodeChatStream = (events, identity) => {
  const [only] = events
  if (events.length === 1 && only?.kind === 'said') return only.passage.bytes
  return Buffer.concat(events.map((event) => encode(event, identity)))
}

function encode(event: ChatStreamEvent, identity: () => StreamIdentity): Buffer {
  switch (event.kind) {
    case 'said':
    case 'finished':
      return event.passage.bytes
    case 'cut':
      return Buffer.concat(event.choices.map((index) => lengthFrame(identity(), index)))
    case 'charged':
      return toFrame({ ...toChunk(identity(), []), usage: usageBody(event.usage), cost: costBody(event.receipt) })
    case 'failed':
      return Buffer.concat([errorFrame(event.error), DONE_FRAME])
    case 'ended':
      return DONE_FRAME
  }
}

/** Ends a choice the way a provider does at its token limit. */
function lengthFrame(identity: StreamIdentity, index: number): Buffer {
  return toFrame(toChunk(identity, [{ index, delta: {}, finish_reason: 'length', logprobs: null }]))
}

/** Types and codes of errors within a stream; every other failure is reported as a provider failure. */
const STREAM_ERRORS: { [Code in DomainErrorCode]?: { type: string; code: string } } = {
  upstream_overloaded: { type: 'server_error', code: 'model_overloaded' },
  unauthenticated: { type: 'authentication_error', code: 'key_inactive' },
  hold_lost: { type: 'api_error', code: 'hold_lost' },
  unavailable: { type: 'api_error', code: 'unavailable' },
  internal: { type: 'api_error', code: 'internal_error' },
}
const UPSTREAM_ERROR = { type: 'api_error', code: 'upstream_error' }

/** An error after the headers, in OpenAI's form: the only one that clients recognize in a stream. */
function errorFrame(error: unknown): Buffer {
  const known = error instanceof DomainError ? error : undefined
  const message = known?.message ?? 'The response could not be completed for an unknown reason. Try again.'
  const { type, code } = STREAM_ERRORS[known?.code ?? 'internal'] ?? UPSTREAM_ERROR
  return toFrame({ error: { message, type, code, param: null } })
}
