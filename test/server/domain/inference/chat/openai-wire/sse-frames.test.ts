import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  countFrames,
  FrameBuffer,
  frameData,
  splitFrames,
} from '../../../../../../server/domain/inference/chat/openai-wire/sse-frames.ts'

/** Cuts `text` at byte positions, which may be inside a character. */
function cut(text: string, positions: readonly number[]): Buffer[] {
  const bytes = Buffer.from(text)
  const cuts = [...new Set(positions.map((position) => position % (bytes.length + 1)))].toSorted((a, b) => a - b)
  return [0, ...cuts].map((start, index) => bytes.subarray(start, cuts[index] ?? bytes.length))
}

function run(pieces: readonly Uint8Array[]): { frames: string[]; rest: string; pushes: Buffer[] } {
  const buffer = new FrameBuffer()
  const pushes = pieces.map((piece) => buffer.push(piece))
  const frames = pushes.flatMap((complete) => splitFrames(complete)).map(String)
  return { frames, rest: buffer.takeRest().toString(), pushes }
}

const DATA = ['data: {"a":"ü🎉\\n"}', ': comment', 'event: x\ndata: y', 'data: [DONE]']

describe.each([
  ['LF', '\n'],
  ['CRLF', '\r\n'],
  ['CR', '\r'],
])('frames with %s line breaks', (_, line) => {
  const frames = DATA.map((frame) => frame.replaceAll('\n', line) + line + line)
  const text = frames.join('')

  test('are the same for two pieces cut at any byte', () => {
    for (let position = 0; position <= Buffer.byteLength(text); position++) {
      const { frames: found, rest } = run(cut(text, [position]))
      expect({ position, found, rest }).toEqual({ position, found: frames, rest: '' })
    }
  })

  test('any number of pieces give the same frames, and nothing is lost or held longer than needed', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(1_000), { maxLength: 40 }), (positions) => {
        const { frames: found, rest, pushes } = run(cut(text, positions))
        expect(found).toEqual(frames)
        expect(rest).toBe('')
        expect(
          pushes.every((complete) => countFrames(complete.toString('latin1')) === splitFrames(complete).length),
        ).toBe(true)
      }),
    )
  })

  test('are kept back until they are complete', () => {
    const { frames: found, rest } = run(cut(`${text}data: half`, [5, 20]))
    expect(found).toEqual(frames)
    expect(rest).toBe('data: half')
  })
})

test('frames that arrive together come out in one piece, without a copy', () => {
  const bytes = Buffer.from('data: 1\n\ndata: 2\n\n')
  expect(new FrameBuffer().push(bytes)).toBe(bytes)
})

test('a Uint8Array that is a window of a larger one is read as that window', () => {
  const whole = new TextEncoder().encode('xxdata: 1\n\nyy')
  expect(new FrameBuffer().push(whole.subarray(2, 11)).toString()).toBe('data: 1\n\n')
})

test.each([
  ['data: x\n\n', 'x'],
  ['data:x\n\n', 'x'],
  ['data:  x\n\n', ' x'],
  ['data: x\r\n\r\n', 'x'],
  ['event: e\nid: 1\ndata: a\ndata: b\n\n', 'a\nb'],
  [': ping\n\n', undefined],
  ['\n', undefined],
])('frameData of %j is %j', (frame, data) => {
  expect(frameData(Buffer.from(frame))).toBe(data)
})
