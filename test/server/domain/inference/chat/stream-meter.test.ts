import * as fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { StreamMeter } from '../../../../../server/domain/inference/chat/stream-meter.ts'
import { TokenCounter } from '../../../../../server/domain/inference/token-counter.ts'
import { chunkFrame, DONE } from '../../../../support/provider-script.ts'

const counter = new TokenCounter()
beforeAll(() => counter.load())

const FIRST = { id: 'chatcmpl-up', object: 'chat.completion.chunk', model: 'upstream-m' }

function meterOf(frames: readonly string[], first: Record<string, unknown> | undefined = FIRST): StreamMeter {
  const meter = new StreamMeter(counter)
  meter.learnEnvelope(first)
  for (const frame of frames) meter.add(Buffer.from(frame), 1)
  return meter
}

describe('the cheap bound', () => {
  test('is never below the count, whatever is written', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 30 })
    fc.assert(
      fc.property(fc.array(text, { maxLength: 20 }), (pieces) => {
        const meter = meterOf(pieces.map((content) => chunkFrame({ content })))
        const bound = meter.boundTokens
        expect(bound).toBeGreaterThanOrEqual(meter.count())
      }),
    )
  })

  test('does not take what every chunk repeats for text', () => {
    const frames = Array.from({ length: 100 }, () => chunkFrame({ content: ' word' }))
    expect(meterOf(frames).boundTokens).toBeLessThan(frames.join('').length / 2)
  })

  test('is the bytes themselves for a provider that repeats nothing', () => {
    const bare = 'data: {"choices":[{"delta":{"content":"x"}}]}\n\n'
    expect(meterOf([bare, bare]).boundTokens).toBe(2 * bare.length)
  })
})

describe('count', () => {
  test('joins the pieces of each choice, and reads thoughts and tool calls', () => {
    const frames = [
      chunkFrame({ content: 'unbeliev' }),
      chunkFrame({ content: 'other' }, { index: 1 }),
      chunkFrame({ content: 'able' }),
      chunkFrame({ reasoning_content: ' so', tool_calls: [{ index: 0, function: { name: 'f', arguments: '{}' } }] }),
    ]
    expect(meterOf(frames).count()).toBe(counter.countExactly('unbelievable sof{}') + counter.countExactly('other'))
  })

  test('stays what it is when asked again, and goes on from there', () => {
    const meter = meterOf([chunkFrame({ content: 'one two' })])
    expect([meter.count(), meter.count()]).toEqual([2, 2])
    meter.add(Buffer.from(chunkFrame({ content: ' three' })), 1)
    expect(meter.count()).toBe(3)
  })

  test('comments, the end mark and garbage count as nothing', () => {
    expect(meterOf([': ping\n\n', DONE, 'data: {"cho\n\n', 'data: [1]\n\n']).count()).toBe(0)
  })

  test('notices that a choice came to its end', () => {
    const meter = meterOf([chunkFrame({ content: 'x' }), chunkFrame({}, { finish: 'stop' })])
    meter.count()
    expect(meter.finished).toBe(true)
  })
})

test('a stream of many megabytes is counted on the way and not kept', () => {
  const frame = chunkFrame({ content: ' word'.repeat(2_000) })
  const meter = meterOf(Array.from({ length: 150 }, () => frame))
  expect(meter.boundTokens).toBeLessThan(150 * 2_000 + 1024 * 1024)
  expect(meter.count()).toBe(300_000)
})
