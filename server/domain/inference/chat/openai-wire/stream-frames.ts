import { DomainError, type DomainErrorCode } from '../../../errors.ts'
import type { Receipt } from '../../../metering/hold.ts'
import { costBody } from './chat-completion.ts'
import { type MeasuredChatUsage, usageBody } from '../usage/chat-usage.ts'
import { toFrame } from './stream-reader.ts'

export const DONE_FRAME = Buffer.from('data: [DONE]\n\n')

/** What every chunk of one stream says. */
export interface StreamIdentity {
  id: string
  created: number
  model: string
}

function chunk({ id, created, model }: StreamIdentity, choices: object[]): Record<string, unknown> {
  return { id, object: 'chat.completion.chunk', created, model, choices }
}

/** The usage and cost that every charged stream has before its end. */
export function usageFrame(identity: StreamIdentity, usage: MeasuredChatUsage, receipt: Receipt): Buffer {
  return toFrame({ ...chunk(identity, []), usage: usageBody(usage), cost: costBody(receipt) })
}

/** Ends each choice as a provider ends it at its token limit, but those that have ended already. */
export function lengthFrames(identity: StreamIdentity, choices: number, ended: ReadonlySet<unknown>): Buffer {
  const open = Array.from({ length: choices }, (_, index) => index).filter((index) => !ended.has(index))
  return Buffer.concat(
    open.map((index) => toFrame(chunk(identity, [{ index, delta: {}, finish_reason: 'length', logprobs: null }]))),
  )
}

/** A whole response as one chunk, for a provider that does not stream. */
export function responseChunk(
  identity: StreamIdentity,
  choices: readonly Record<string, unknown>[],
): Record<string, unknown> {
  const deltas = choices.map(({ message, ...choice }) => ({ ...choice, delta: withIndexedCalls(message) }))
  return chunk(identity, deltas)
}

/** In chunks tool calls carry their position, by which clients put the pieces together. */
function withIndexedCalls(message: unknown): unknown {
  if (typeof message !== 'object' || message === null || !('tool_calls' in message)) return message
  const calls: unknown = message.tool_calls
  if (!Array.isArray(calls)) return message
  return { ...message, tool_calls: calls.map((call: object, index) => ({ index, ...call })) }
}

/** Codes and types of errors within a stream; every other failure is the provider's. */
const STREAM_ERRORS: { [Code in DomainErrorCode]?: { type: string; code: string } } = {
  upstream_overloaded: { type: 'server_error', code: 'model_overloaded' },
  unauthenticated: { type: 'authentication_error', code: 'key_inactive' },
  hold_lost: { type: 'api_error', code: 'hold_lost' },
  unavailable: { type: 'api_error', code: 'unavailable' },
  internal: { type: 'api_error', code: 'internal_error' },
}
const UPSTREAM_ERROR = { type: 'api_error', code: 'upstream_error' }

/** An error after the headers, in OpenAI's form, which is the only one that clients look for in a stream. */
export function errorFrames(error: unknown): Buffer {
  const known = error instanceof DomainError ? error : undefined
  const message = known?.message ?? 'The response could not be completed for an unknown reason. Try again.'
  const { type, code } = STREAM_ERRORS[known?.code ?? 'internal'] ?? UPSTREAM_ERROR
  return Buffer.concat([toFrame({ error: { message, type, code, param: null } }), DONE_FRAME])
}
