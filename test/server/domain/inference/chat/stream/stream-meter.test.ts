import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { StreamMeter } from '../../../../../../server/domain/inference/chat/stream/stream-meter.ts'
import { TokenCounter } from '../../../../../../server/domain/inference/tokens/token-counter.ts'
import { chunkFrame, DONE } from '../../../../../support/provider-script.ts'

const counter = new TokenCounter()

const FIRST = { id: 'chatcmpl-up', object: 'chat.completion.chunk', model: 'upstream-m' }

function meterOf(frames: readonly string[], first: Record<string, unknown> | undefined = FIRST): StreamMeter {
  const meter = new StreamMeter(counter)
  meter.learnEnvelope(first)
  for (const frame of frames) meter.add(Buffer.from(frame), 1)
  return meter
}

describe('the cheap bound', () => {
  test('is never below the count, whatever is written', async () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 30 })
    await fc.assert(
      fc.asyncProperty(fc.array(text, { maxLength: 20 }), async (pieces) => {
        const meter = meterOf(pieces.map((content) => chunkFrame({ content })))
        const bound = meter.boundTokens
        expect(bound).toBeGreaterThanOrEqual(await meter.count())
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
  test('joins the pieces of each choice, and reads thoughts and tool calls', async () => {
    const frames = [
      chunkFrame({ content: 'unbeliev' }),
      chunkFrame({ content: 'other' }, { index: 1 }),
      chunkFrame({ content: 'able' }),
      chunkFrame({ reasoning_content: ' so', tool_calls: [{ index: 0, function: { name: 'f', arguments: '{}' } }] }),
    ]
    const { tokens } = await counter.count(['unbelievable sof{}', 'other'])
    expect(await meterOf(frames).count()).toBe(tokens)
  })

  test('stays the same when it is repeated, and continues from there', async () => {
    const meter = meterOf([chunkFrame({ content: 'one two' })])
    expect(await Promise.all([meter.count(), meter.count()])).toEqual([2, 2])
    meter.add(Buffer.from(chunkFrame({ content: ' three' })), 1)
    expect(await meter.count()).toBe(3)
  })

  test('comments, the end mark and garbage count as nothing', async () => {
    expect(await meterOf([': ping\n\n', DONE, 'data: {"cho\n\n', 'data: [1]\n\n']).count()).toBe(0)
  })
})

test('a stream of many megabytes asks to be counted on the way, so that it is not kept', async () => {
  const frame = Buffer.from(chunkFrame({ content: ' word'.repeat(2_000) }))
  const meter = meterOf([])
  let counts = 0
  for (let sent = 0; sent < 150; sent++) {
    meter.add(frame, 1)
    if (!meter.isFull) continue
    await meter.count()
    counts += 1
  }
  expect(counts).toBeGreaterThan(3)
  expect(meter.boundTokens).toBeLessThan(150 * 2_000 + 1024 * 1024)
  expect(await meter.count()).toBe(300_000)
})
