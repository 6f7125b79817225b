import { expect, test } from 'vitest'
import type {
  ChatStreamEvent,
  EncodeChatStream,
} from '../../../../../server/domain/inference/chat/stream/chat-stream-events.ts'
import { createChatHarness, readText } from '../../../../support/chat-harness.ts'
import {
  chunkFrame,
  completion,
  DONE,
  jsonAnswer,
  scriptRouter,
  streamAnswer,
  usageFrame,
} from '../../../../support/provider-script.ts'

const USAGE = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 }
const CALL = { id: 'call_1', type: 'function', function: { name: 'find', arguments: '{"q":1}' } }

/** A wire of this test: one line for each event, with what its deltas say. */
const encodeLines: EncodeChatStream = (events, identity) =>
  Buffer.from(events.map((event) => `${toLine(event)} of ${identity().model}\n`).join(''))

function toLine(event: ChatStreamEvent): string {
  if (event.kind === 'charged') return `charged ${event.receipt.chargedNanoUsd}`
  if (event.kind === 'failed') return `failed ${String(event.error)}`
  if (event.kind !== 'said' && event.kind !== 'finished') return event.kind
  const texts = event.passage.deltas().map(({ choice, content, reasoning, toolCalls, finishReason }) => {
    const calls = toolCalls.map(({ index, name = '', arguments: json }) => `call ${index} ${name}${json}`)
    return [choice, content, reasoning === '' ? '' : `(${reasoning})`, ...calls, finishReason ?? '']
      .filter((text) => text !== '')
      .join(' ')
  })
  return `${event.kind} ${texts.join(' | ')}`
}

async function linesOf(answer: ReturnType<typeof streamAnswer>): Promise<string[]> {
  const harness = createChatHarness({ router: scriptRouter(() => answer) })
  const plan = await harness.plan({ stream: true })
  const text = await readText(await harness.chat.stream(harness.context, plan, encodeLines))
  return text.trimEnd().split('\n')
}

test('another wire encodes content, thoughts, tool calls, finish, cost and end of a stream from its events', async () => {
  const frames = [
    chunkFrame({ role: 'assistant', reasoning_content: 'hm' }),
    chunkFrame({ content: 'Hel' }),
    chunkFrame({ content: 'lo' }, { index: 1 }),
    chunkFrame({ tool_calls: [{ index: 0, ...CALL }] }),
    chunkFrame({ tool_calls: [{ index: 0, function: { arguments: '}' } }] }),
    chunkFrame({}, { finish: 'tool_calls' }),
    usageFrame(USAGE),
    DONE,
  ]
  expect(await linesOf(streamAnswer(frames))).toEqual([
    'said 0 (hm) of m',
    'said 0 Hel of m',
    'said 1 lo of m',
    'said 0 call 0 find{"q":1} of m',
    'said 0 call 0 } of m',
    'finished 0 tool_calls of m',
    'charged 17000 of m',
    'ended of m',
  ])
})

test('a response of a provider that does not stream has the same events', async () => {
  const body = completion({ content: 'Hello', reasoning_content: 'hm', tool_calls: [CALL] }, USAGE)
  expect(await linesOf(jsonAnswer(body))).toEqual([
    'said 0 Hello (hm) call 0 find{"q":1} of m',
    'finished 0 stop of m',
    'charged 17000 of m',
    'ended of m',
  ])
})

test('a failure after the first event is an event', async () => {
  const lines = await linesOf(
    streamAnswer([chunkFrame({ content: 'Hel' }), 'data: {"error":{"message":"out of memory"}}\n\n']),
  )
  expect(lines).toEqual([
    'said 0 Hel of m',
    expect.stringContaining('failed DomainError: The model provider failed: out of memory'),
  ])
})
