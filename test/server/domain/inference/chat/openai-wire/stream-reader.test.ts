import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { StreamReader } from '../../../../../../server/domain/inference/chat/openai-wire/stream-reader.ts'
import { answerFrames, chunkFrame, DONE } from '../../../../../support/provider-script.ts'

const USAGE = { prompt_tokens: 1, completion_tokens: 2 }

function readAll(pieces: readonly Buffer[], modelId = 'm') {
  const reader = new StreamReader({ modelId, thinkingFilter: undefined })
  const read = [...pieces.map((piece) => reader.read(piece)), reader.readRest()]
  return { reader, delivered: Buffer.concat(read.map(({ deliver }) => deliver)).toString() }
}

const bytesOf = (frames: readonly string[]): Buffer => Buffer.from(frames.join(''))

describe('a stream cut at any byte', () => {
  const frames = answerFrames(['He said "usage"', ' and "model":"upstream-m"', ' 🎉'], USAGE)
  const whole = readAll([bytesOf(frames)]).delivered

  test('delivers the same, with our model and without finish reason, usage and end mark', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(2_000), { maxLength: 20 }), (positions) => {
        const bytes = bytesOf(frames)
        const cuts = [...new Set(positions.map((at) => at % bytes.length))].toSorted((a, b) => a - b)
        const pieces = [0, ...cuts].map((start, index) => bytes.subarray(start, cuts[index] ?? bytes.length))
        const { reader, delivered } = readAll(pieces)
        expect(delivered).toBe(whole)
        expect([reader.usage, reader.done]).toEqual([USAGE, true])
      }),
    )
    expect(whole).toBe(frames.slice(0, -3).join('').replaceAll('"model":"upstream-m"', '"model":"m"'))
  })
})

describe('bytes pass untouched', () => {
  test('if the provider uses our name', () => {
    const frames = answerFrames(['a', 'b']).slice(0, -2)
    expect(
      readAll(
        frames.map((frame) => Buffer.from(frame)),
        'upstream-m',
      ).delivered,
    ).toBe(frames.join(''))
  })

  test.each([
    ['a text that is the word usage', chunkFrame({ content: 'usage' })],
    ['a text that is the end mark', chunkFrame({ content: '[DONE]' })],
    ['a text that quotes an error', chunkFrame({ content: '{"error": 1, "usage": {}}' })],
    ['usage and error of null', chunkFrame({ content: 'x' }, { rest: { usage: null, error: null } })],
    ['members of other names', chunkFrame({ content: 'x' }, { rest: { x_info: { a: [1, 2] } } })],
  ])('if they contain %s', (_, frame) => {
    const first = chunkFrame({ role: 'assistant' })
    const { delivered, reader } = readAll([Buffer.from(first + frame)], 'upstream-m')
    expect(JSON.stringify(delivered)).toBe(JSON.stringify(first + frame))
    expect([reader.usage, reader.done, reader.failure]).toEqual([undefined, false, undefined])
  })
})

test.each([
  ['a name with a space after the colon', 'data: {"id":"a", "model": "up", "choices": [1]}\n\n', '"model":"m"'],
  ['a name with an escape', 'data: {"model":"u\\"p","choices":[1]}\n\n', '"model":"m"'],
])('replaces %s', (_, frame, expected) => {
  expect(readAll([Buffer.from(frame)]).delivered).toContain(expected)
})

test('a model name given late is replaced from there on', () => {
  const frames = ['data: {"choices":[{"index":0}]}\n\n', 'data: {"model":"up","choices":[1]}\n\n']
  expect(readAll(frames.map((frame) => Buffer.from(frame))).delivered).toBe(frames.join('').replace('"up"', '"m"'))
})

test('an error in the stream ends it, whatever follows', () => {
  const frames = [
    chunkFrame({ content: 'a' }),
    'data: {"error":{"message":"boom"}}\n\n',
    chunkFrame({ content: 'b' }),
    DONE,
  ]
  const { reader, delivered } = readAll([bytesOf(frames)], 'upstream-m')
  expect(reader.failure).toEqual({ message: 'boom' })
  expect(delivered).toBe(frames[0])
})

test('the end without a blank line counts, half a frame does not', () => {
  const start = chunkFrame({ content: 'a' })
  expect(readAll([Buffer.from(`${start}data: [DONE]`)]).reader.done).toBe(true)
  expect(readAll([Buffer.from(`${start}data: [DONE]\n`)]).reader.done).toBe(true)
  const { reader, delivered } = readAll([Buffer.from(`${start}data: {"choices":[{"ind`)], 'upstream-m')
  expect([reader.done, delivered]).toEqual([false, start])
})

describe('the end of a choice', () => {
  const finishOf = (pieces: readonly string[]) => {
    const { reader, delivered } = readAll(pieces.map((piece) => Buffer.from(piece)))
    return { delivered, finishes: reader.finishes.toString(), ended: [...reader.finishedChoices] }
  }

  test('is kept back', () => {
    const { delivered, finishes, ended } = finishOf([chunkFrame({ content: 'a' }), chunkFrame({}, { finish: 'stop' })])
    expect(delivered).not.toContain('"finish_reason":"stop"')
    expect(finishes).toContain('"finish_reason":"stop"')
    expect(ended).toEqual([0])
  })

  test('is kept back alone if it is in the chunk of the last content', () => {
    const { delivered, finishes } = finishOf([chunkFrame({ content: 'a' }, { finish: 'length' })])
    expect(delivered).toContain('"delta":{"content":"a"},"finish_reason":null')
    expect(finishes).toContain('"delta":{},"finish_reason":"length"')
  })

  test('does not keep back the other choices', () => {
    const { delivered, finishes, ended } = finishOf([
      chunkFrame({ content: 'a' }, { index: 1, finish: 'stop' }),
      chunkFrame({ content: 'later' }),
    ])
    expect(delivered).toContain('later')
    expect(finishes).not.toContain('later')
    expect(ended).toEqual([1])
  })
})

test.each([
  ['in every chunk', [chunkFrame({ content: 'a' }, { rest: { system_fingerprint: 'fp_1' } })]],
  ['of null', [chunkFrame({ content: 'a' }, { rest: { system_fingerprint: null } })]],
  [
    'as the first member',
    ['data: {"system_fingerprint": "fp_1", "model":"m","choices":[{"delta":{"content":"a"}}]}\n\n'],
  ],
  [
    'from the second chunk on',
    [chunkFrame({}), chunkFrame({ content: 'a' }, { rest: { system_fingerprint: 'fp_1' } })],
  ],
  ['beside usage', [chunkFrame({ content: 'a' }, { rest: { system_fingerprint: 'fp_1', usage: USAGE } })]],
])('the fingerprint of the provider is not shown: %s', (_, frames) => {
  const { delivered, reader } = readAll(
    [...frames, chunkFrame({}, { finish: 'stop' })].map((frame) => Buffer.from(frame)),
  )
  const whole = delivered + reader.finishes.toString()
  expect(whole).not.toContain('fingerprint')
  for (const frame of whole.split('\n\n').filter(Boolean))
    expect(() => JSON.parse(frame.slice(6)) as unknown).not.toThrow()
  expect(whole).toContain('"content":"a"')
})

test.each([
  ['with a message', '{"message":"sk-live-secret"}', { message: 'sk-live-secret' }],
  ['with an error object', '{"error":{"message":"boom"}}', { message: 'boom' }],
  ['that is no JSON', 'boom', 'boom'],
])('an error event %s ends the stream, and its words stay behind', (_, data, failure) => {
  const frames = [chunkFrame({ content: 'a' }), `event: error\ndata: ${data}\n\n`, chunkFrame({ content: 'b' }), DONE]
  const { reader, delivered } = readAll([bytesOf(frames)], 'upstream-m')
  expect(reader.failure).toEqual(failure)
  expect(delivered).toBe(frames[0])
})

test('a usage chunk that is not JSON is dropped, since clients fail on it', () => {
  const broken = 'data: {"choices":[],"usage":{"prompt_tokens":NaN}}\n\n'
  const { delivered, reader } = readAll([bytesOf([chunkFrame({ content: 'a' }), broken])], 'upstream-m')
  expect([delivered, reader.usage]).toEqual([chunkFrame({ content: 'a' }), undefined])
})

test('a byte order mark hides nothing of the first chunk', () => {
  const { reader } = readAll([bytesOf(['\uFEFF', chunkFrame({ content: 'a' }, { rest: { usage: USAGE } })])])
  expect(reader.usage).toEqual(USAGE)
})

test('each choice ends once, however often the provider says so', () => {
  const end = chunkFrame({}, { finish: 'stop' })
  const { reader } = readAll([bytesOf([chunkFrame({ content: 'a' }), end, end, end])], 'upstream-m')
  expect(reader.finishes.toString()).toBe(end)
})

test('the ends that are kept are limited, whatever numbers their choices have', () => {
  const ends = Array.from({ length: 1_000 }, (_, index) => chunkFrame({}, { finish: 'stop', index }))
  const { reader } = readAll([bytesOf([chunkFrame({ content: 'a' }), ...ends])], 'upstream-m')
  expect(reader.finishes.toString().split('\n\n')).toHaveLength(129)
})
