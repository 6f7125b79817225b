import { DomainError } from '../../errors.ts'
import type { Receipt } from '../../metering/hold.ts'
import { costBody } from './chat-completion.ts'
import { type MeasuredUsage, usageBody } from './chat-usage.ts'
import { toFrame } from './stream-reader.ts'

const DONE_FRAME = Buffer.from('data: [DONE]\n\n')

/** What every chunk of one stream says. */
export interface StreamIdentity {
  id: string
  created: number
  model: string
}

function chunk({ id, created, model }: StreamIdentity, choices: object[]): Record<string, unknown> {
  return { id, object: 'chat.completion.chunk', created, model, choices }
}

/** The usage and cost that always come before the end mark (public API facts, 4.4). */
export function endFrames(identity: StreamIdentity, usage: MeasuredUsage, receipt: Receipt): Buffer {
  const last = { ...chunk(identity, []), usage: usageBody(usage), cost: costBody(receipt) }
  return Buffer.concat([toFrame(last), DONE_FRAME])
}

/** Ends each choice as a provider ends it at its token limit. */
export function lengthFrames(identity: StreamIdentity, choices: number): Buffer {
  const frames = Array.from({ length: choices }, (_, index) =>
    toFrame(chunk(identity, [{ index, delta: {}, finish_reason: 'length', logprobs: null }])),
  )
  return Buffer.concat(frames)
}

/** A whole answer as one chunk, for a provider that does not stream. */
export function answerFrame(identity: StreamIdentity, choices: readonly Record<string, unknown>[]): Buffer {
  const deltas = choices.map(({ message, ...choice }) => ({ ...choice, delta: withIndexedCalls(message) }))
  return toFrame(chunk(identity, deltas))
}

/** In chunks tool calls carry their position, by which clients put the pieces together. */
function withIndexedCalls(message: unknown): unknown {
  if (typeof message !== 'object' || message === null || !('tool_calls' in message)) return message
  const calls: unknown = message.tool_calls
  if (!Array.isArray(calls)) return message
  return { ...message, tool_calls: calls.map((call: object, index) => ({ index, ...call })) }
}

/** An error after the headers, in OpenAI's form, which is the only one that clients look for in a stream. */
export function errorFrames(error: unknown): Buffer {
  const known = error instanceof DomainError ? error : undefined
  const message = known?.message ?? 'The answer could not be completed for an unknown reason. Try again.'
  const overloaded = known?.code === 'upstream_overloaded'
  const body = {
    message,
    type: overloaded ? 'server_error' : 'api_error',
    code: overloaded ? 'model_overloaded' : 'upstream_error',
    param: null,
  }
  return Buffer.concat([toFrame({ error: body }), DONE_FRAME])
}
