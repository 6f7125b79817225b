import { describe, expect, test } from 'vitest'
import { DomainError } from '../../../../../server/domain/errors.ts'
import {
  contentOf,
  createChatHarness,
  INPUT_NANO,
  OUTPUT_NANO,
  parseStream,
  readText,
} from '../../../../support/chat-harness.ts'
import {
  answerFrames,
  chunkFrame,
  completion,
  DONE,
  jsonAnswer,
  openStreamAnswer,
  scriptRouter,
  streamAnswer,
  usageFrame,
} from '../../../../support/provider-script.ts'

const USAGE = { prompt_tokens: 10, completion_tokens: 3, total_tokens: 13 }
const WORDS = ['one', ' two', ' three']
const WHOLE = 10n * INPUT_NANO + 3n * OUTPUT_NANO
/** By our own count: "Hi" and four tokens around the message, and three words. */
const COUNTED = 5n * INPUT_NANO + 3n * OUTPUT_NANO

const streamOf = (pieces: readonly string[]) => createChatHarness({ router: scriptRouter(() => streamAnswer(pieces)) })

describe('a stream that ends well', () => {
  test('forwards its chunks, then sends usage and cost, then ends', async () => {
    const harness = streamOf(answerFrames(WORDS, USAGE))
    const chunks = parseStream(await readText(await harness.stream()))
    expect(contentOf(chunks)).toBe('one two three')
    expect(chunks.slice(-2)).toEqual([
      {
        id: 'chatcmpl-up',
        object: 'chat.completion.chunk',
        created: 1_700_000_000,
        model: 'm',
        choices: [],
        usage: { ...USAGE, prompt_tokens_details: { cached_tokens: 0, cache_creation_input_tokens: 0 } },
        cost: { usd: 0.000016, diem: 0 },
      },
      '[DONE]',
    ])
    expect(chunks.filter((chunk) => chunk !== '[DONE]' && chunk.usage !== undefined)).toHaveLength(1)
    expect(harness.end).toMatchObject({ kind: 'settled', chargedNanoUsd: WHOLE })
    expect(harness.usage).toMatchObject({ outcome: 'completed', estimated: false })
  })

  test('names our model in every chunk', async () => {
    const chunks = parseStream(await readText(await streamOf(answerFrames(WORDS, USAGE)).stream()))
    expect(new Set(chunks.map((chunk) => (chunk === '[DONE]' ? 'm' : chunk.model)))).toEqual(new Set(['m']))
  })

  test('the provider is asked for usage though the caller was not interested', async () => {
    const router = scriptRouter(() => streamAnswer(answerFrames(WORDS, USAGE)))
    const harness = createChatHarness({ router })
    await readText(await harness.stream({ stream_options: { include_usage: false, other: 1 } }))
    expect(router.requests[0]).toMatchObject({
      accepts: 'events',
      body: { value: { stream: true, stream_options: { include_usage: true, other: 1 } } },
    })
  })

  test('frames that arrive together leave together', async () => {
    const frames = answerFrames(WORDS, USAGE)
    const { frames: out } = await streamOf([frames.join('')]).stream()
    const pieces: Buffer[] = []
    for await (const bytes of out) pieces.push(bytes)
    expect(pieces).toHaveLength(2)
    expect(pieces[1]?.toString()).toMatch(/"finish_reason":"stop".*"cost".*\[DONE\]/s)
  })

  test.each([
    [
      'usage in the last content chunk',
      [chunkFrame({ content: 'one two three' }, { finish: 'stop', rest: { usage: USAGE } }), DONE],
    ],
    [
      'usage in every chunk',
      [
        ...WORDS.map((content, at) =>
          chunkFrame({ content }, { rest: { usage: { ...USAGE, completion_tokens: at + 1 } } }),
        ),
        chunkFrame({}, { finish: 'stop', rest: { usage: USAGE } }),
        DONE,
      ],
    ],
    [
      'usage null in all chunks but one',
      [
        ...WORDS.map((content) => chunkFrame({ content }, { rest: { usage: null } })),
        chunkFrame({}, { finish: 'stop', rest: { usage: null } }),
        usageFrame(USAGE),
        DONE,
      ],
    ],
    ['no end mark', [chunkFrame({ content: 'one two three' }, { finish: 'stop' }), usageFrame(USAGE)]],
    ['no blank line after the end mark', [...answerFrames(WORDS, USAGE).slice(0, -1), 'data: [DONE]']],
    ['CRLF', answerFrames(WORDS, USAGE).map((frame) => frame.replaceAll('\n', '\r\n'))],
    ['comments', [': ping\n\n', ...answerFrames(WORDS, USAGE)]],
  ])('%s: the usage is found, shown once and charged', async (_, pieces) => {
    const harness = streamOf(pieces)
    const chunks = parseStream((await readText(await harness.stream())).replaceAll('\r\n', '\n'))
    expect(contentOf(chunks)).toBe('one two three')
    expect(chunks.at(-1)).toBe('[DONE]')
    expect(chunks.filter((chunk) => chunk !== '[DONE]' && chunk.usage?.total_tokens === 13)).toHaveLength(1)
    expect(harness.end).toMatchObject({ chargedNanoUsd: WHOLE, usage: { estimated: false } })
  })

  test('finish reason, usage and end mark wait for the charge', async () => {
    const harness = streamOf(answerFrames(WORDS, USAGE))
    const gate = Promise.withResolvers<void>()
    harness.metering.settleGate = gate.promise
    const stream = await harness.stream()
    let text = ''
    const reading = (async () => {
      for await (const bytes of stream.frames) text += bytes.toString()
    })()
    while (harness.end?.kind !== 'settled') await new Promise(setImmediate)
    await new Promise(setImmediate)
    expect(text).toContain('three')
    expect(text).not.toMatch(/\[DONE\]|"cost"|"finish_reason":"/)
    gate.resolve()
    await reading
    expect(text).toContain('"finish_reason":"stop"')
    expect(text).toMatch(/"cost".*\n\ndata: \[DONE\]\n\n$/)
  })
})

describe('usage that is not believed', () => {
  test.each([
    ['missing', undefined],
    ['negative', { prompt_tokens: -1, completion_tokens: 3 }],
    ['fractional', { prompt_tokens: 10, completion_tokens: 3.5 }],
    ['beyond the context', { prompt_tokens: 10, completion_tokens: 99_999 }],
    ['zero although there is text', { prompt_tokens: 10, completion_tokens: 0 }],
  ])('%s: the delivered part is counted', async (_, usage) => {
    const harness = streamOf(answerFrames(WORDS, usage))
    const chunks = parseStream(await readText(await harness.stream()))
    expect(chunks.at(-2)).toMatchObject({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 3 } })
    expect(harness.end).toMatchObject({ chargedNanoUsd: COUNTED, usage: { estimated: true, outcome: 'completed' } })
  })

  test('a finish reason alone makes a stream whole', async () => {
    const harness = streamOf([chunkFrame({ content: 'one two three' }), chunkFrame({}, { finish: 'stop' })])
    expect(parseStream(await readText(await harness.stream())).at(-1)).toBe('[DONE]')
    expect(harness.end).toMatchObject({ chargedNanoUsd: COUNTED })
  })
})

describe('the client leaves', () => {
  const pieces = [chunkFrame({ role: 'assistant', content: '' }), chunkFrame({ content: 'one two three' })]

  test.each(['by its signal', 'by reading no further'])('%s: prompt and delivered tokens are charged', async (how) => {
    let upstreamEnded = false
    const router = scriptRouter(({ signal }) => {
      const answer = openStreamAnswer(pieces, signal)
      const source = answer.body[Symbol.asyncIterator]()
      const iterator = {
        next: () => source.next(),
        return: async () => ((upstreamEnded = true), { done: true as const, value: undefined }),
      }
      return { ...answer, body: { [Symbol.asyncIterator]: () => iterator } }
    })
    const harness = createChatHarness({ router })
    const stream = await harness.stream()
    let seen = 0
    for await (const _ of stream.frames) {
      seen += 1
      if (seen < 2) continue
      if (how === 'by reading no further') break
      harness.abort.abort()
    }
    expect(harness.end).toMatchObject({ kind: 'settled', chargedNanoUsd: COUNTED })
    expect(harness.usage).toMatchObject({ outcome: 'client_disconnected', estimated: true })
    expect(upstreamEnded).toBe(true)
  })

  test('a charge that fails then is logged and hurts nobody', async () => {
    const harness = createChatHarness({ router: scriptRouter(({ signal }) => openStreamAnswer(pieces, signal)) })
    const stream = await harness.stream()
    harness.metering.settleFailure = new Error('database down')
    for await (const _ of stream.frames) break
    expect(harness.log.lines).toMatchObject([{ level: 'error', message: 'abandoned response could not be charged' }])
  })
})

describe('the provider breaks', () => {
  test.each([
    ['its connection', openStreamAnswer([chunkFrame({ content: 'one' })], new Error('reset'))],
    ['it off without an end', streamAnswer([chunkFrame({ content: 'one' })])],
    ['it off within a frame', streamAnswer([chunkFrame({ content: 'one' }), 'data: {"choices":[{"ind'])],
    [
      'with an error in the stream',
      streamAnswer([
        chunkFrame({ content: 'one' }),
        'data: {"error":{"message":"boom at https://10.0.0.1/x"}}\n\n',
        DONE,
      ]),
    ],
    [
      'with an error and content in one piece',
      streamAnswer([`${chunkFrame({ content: 'one' })}data: {"error":"boom"}\n\n`]),
    ],
  ])('%s: an error in the stream, the end mark, no charge', async (_, answer) => {
    const harness = createChatHarness({ router: scriptRouter(() => answer) })
    const text = await readText(await harness.stream())
    const chunks = parseStream(text)
    expect(contentOf(chunks)).toBe('one')
    expect(chunks.slice(-2)).toEqual([
      {
        error: {
          message: expect.stringContaining('Nothing was charged'),
          type: 'api_error',
          code: 'upstream_error',
          param: null,
        },
      },
      '[DONE]',
    ])
    expect(text).not.toContain('10.0.0.1')
    expect(harness.end).toEqual({ kind: 'released' })
  })

  test.each([
    ['an empty stream', streamAnswer([])],
    ['an end mark alone', streamAnswer([DONE])],
    ['an error first', streamAnswer(['data: {"error":{"message":"boom"}}\n\n'])],
    ['a broken connection', openStreamAnswer([], new Error('reset'))],
    ['JSON without choices', jsonAnswer({ error: 'boom' })],
  ])('is an ordinary error without a charge before the first byte, with %s', async (_, answer) => {
    const harness = createChatHarness({ router: scriptRouter(() => answer) })
    await expect(harness.stream()).rejects.toMatchObject({ code: 'upstream_failed' })
    expect(harness.end).toEqual({ kind: 'released' })
  })

  test('a provider that rejects the request: its error passes through, no charge', async () => {
    const error = new DomainError('upstream_rejected', 'no', { upstreamStatus: 422 })
    const harness = createChatHarness({ router: scriptRouter(() => Promise.reject(error)) })
    await expect(harness.stream()).rejects.toBe(error)
    expect(harness.end).toEqual({ kind: 'released' })
  })

  test('a frame without an end is not collected for ever', async () => {
    const endless = Array.from({ length: 10 }, () => Buffer.alloc(1024 * 1024, 'x'))
    const harness = createChatHarness({ router: scriptRouter(() => streamAnswer(endless)) })
    await expect(harness.stream()).rejects.toMatchObject({ code: 'upstream_failed' })
  })
})

describe('a charge that fails', () => {
  test.each([
    ['hold_lost', new DomainError('hold_lost', 'The request lost its hold')],
    ['unavailable', new DomainError('unavailable', 'The charge could not be written')],
    ['internal_error', new Error('bug')],
  ])('ends the stream with %s in place of finish reason and usage', async (code, failure) => {
    const harness = streamOf(answerFrames(WORDS, USAGE))
    const stream = await harness.stream()
    harness.metering.settleFailure = failure
    const text = await readText(stream)
    const chunks = parseStream(text)
    expect(contentOf(chunks)).toBe('one two three')
    expect(chunks.slice(-2)).toMatchObject([{ error: { code, type: 'api_error' } }, '[DONE]'])
    expect(text).not.toMatch(/"finish_reason":"|"cost"|bug/)
  })

  test('is an ordinary error before the first bytes', async () => {
    const harness = streamOf([chunkFrame({}, { finish: 'stop' }), DONE])
    harness.metering.settleFailure = new DomainError('hold_lost', 'The request lost its hold')
    await expect(harness.stream()).rejects.toMatchObject({ code: 'hold_lost' })
  })
})

test('a stream without content is complete by its finish reason', async () => {
  const harness = streamOf([chunkFrame({}, { finish: 'stop' }), DONE])
  const chunks = parseStream(await readText(await harness.stream()))
  expect(chunks).toMatchObject([{ choices: [{ finish_reason: 'stop' }] }, { usage: {}, cost: {} }, '[DONE]'])
})

describe('a stream that outgrows its hold', () => {
  const long = (words: number) => answerFrames(Array.from({ length: words }, () => ' word'))

  test('is extended while there is money, and charged in full', async () => {
    const harness = streamOf(long(600))
    const chunks = parseStream(await readText(await harness.stream({ max_tokens: 10 })))
    expect(chunks.at(-1)).toBe('[DONE]')
    expect(harness.usage).toMatchObject({ outcome: 'completed', estimated: true })
    const { chargedNanoUsd } = harness.end as { chargedNanoUsd: bigint }
    expect(chargedNanoUsd).toBeGreaterThanOrEqual(5n * INPUT_NANO + 600n * OUTPUT_NANO)
  })

  test('is cut cleanly when the money ends, and costs all that was held', async () => {
    const balanceNanoUsd = 100n * OUTPUT_NANO
    let upstreamEnded = false
    const router = scriptRouter(() => {
      const answer = streamAnswer(long(5_000))
      const source = answer.body[Symbol.asyncIterator]()
      const iterator = {
        next: () => source.next(),
        return: async () => ((upstreamEnded = true), { done: true as const, value: undefined }),
      }
      return { ...answer, body: { [Symbol.asyncIterator]: () => iterator } }
    })
    const harness = createChatHarness({ balanceNanoUsd, router })
    const chunks = parseStream(await readText(await harness.stream({ max_tokens: 10 })))
    const words = contentOf(chunks).split(' word').length - 1
    expect(words).toBeLessThan(150)
    expect(chunks.slice(-3)).toMatchObject([
      { choices: [{ index: 0, delta: {}, finish_reason: 'length' }] },
      {
        choices: [],
        cost: {
          usd:
            Number(
              harness.metering.records[0]?.end?.kind === 'settled'
                ? harness.metering.records[0].end.chargedNanoUsd
                : 0n,
            ) / 1e9,
        },
      },
      '[DONE]',
    ])
    expect(harness.usage).toMatchObject({ outcome: 'cut_by_balance', estimated: true })
    expect(harness.metering.balanceNanoUsd).toBeLessThan(16n * OUTPUT_NANO)
    expect(harness.metering.balanceNanoUsd).toBeGreaterThanOrEqual(0n)
    expect(upstreamEnded).toBe(true)
  })

  test('free output is never cut', async () => {
    const router = scriptRouter(() => streamAnswer(long(5_000)))
    const harness = createChatHarness({ router, balanceNanoUsd: 0n, model: { pricing: {} } })
    expect(contentOf(parseStream(await readText(await harness.stream({ max_tokens: 10 }))))).toHaveLength(25_000)
  })
})

describe('a provider that answers a stream request with JSON', () => {
  test('becomes one chunk, usage, end mark', async () => {
    const message = {
      content: 'one two three',
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
    }
    const harness = createChatHarness({ router: scriptRouter(() => jsonAnswer(completion(message, USAGE))) })
    const chunks = parseStream(await readText(await harness.stream()))
    expect(chunks).toMatchObject([
      {
        object: 'chat.completion.chunk',
        model: 'm',
        choices: [{ index: 0, delta: { ...message, tool_calls: [{ index: 0, id: 'c' }] }, finish_reason: null }],
      },
      { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
      { choices: [], usage: USAGE },
      '[DONE]',
    ])
    expect(harness.end).toMatchObject({ chargedNanoUsd: WHOLE })
  })
})

test('thoughts are taken out of a stream, tags cut anywhere, and are paid for all the same', async () => {
  const pieces = [
    chunkFrame({ role: 'assistant', reasoning_content: 'hm' }),
    ...['<th', 'ink>secret</thi', 'nk>\n', '\nYes', ' <b', '>'].map((content) => chunkFrame({ content })),
    chunkFrame({ reasoning_content: 'hm' }, { finish: 'stop' }),
    DONE,
  ]
  const harness = streamOf(pieces)
  const text = await readText(await harness.stream({ service_parameters: { strip_thinking_response: true } }))
  expect(contentOf(parseStream(text))).toBe('Yes <b>')
  expect(text).not.toMatch(/secret|hm/)
  const written = await harness.counter.countCompletion('hm<think>secret</think>\n\nYes <b>hm')
  expect(harness.end).toMatchObject({ chargedNanoUsd: 5n * INPUT_NANO + BigInt(written) * OUTPUT_NANO })
})
