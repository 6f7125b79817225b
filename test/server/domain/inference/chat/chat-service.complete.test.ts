import { describe, expect, test } from 'vitest'
import { DomainError } from '../../../../../server/domain/errors.ts'
import { createChatHarness, INPUT_NANO, OUTPUT_NANO } from '../../../../support/chat-harness.ts'
import { completion, jsonAnswer, scriptRouter } from '../../../../support/provider-script.ts'

const USAGE = { prompt_tokens: 10, completion_tokens: 4, total_tokens: 14 }
const ANSWER = completion({ content: 'Hello there' }, USAGE)

describe('a whole response', () => {
  test('is charged what the provider counted and has the public shape', async () => {
    const harness = createChatHarness({ router: scriptRouter(() => jsonAnswer(ANSWER), 1) })
    const { body, served } = await harness.complete()
    expect(body).toEqual({
      id: 'chatcmpl-up',
      object: 'chat.completion',
      created: 1_700_000_000,
      model: 'm',
      choices: [
        { index: 0, message: { role: 'assistant', content: 'Hello there' }, finish_reason: 'stop', logprobs: null },
      ],
      usage: { ...USAGE, prompt_tokens_details: { cached_tokens: 0, cache_creation_input_tokens: 0 } },
      cost: { usd: 0.000018, diem: 0 },
      service_parameters: {
        enable_e2ee: true,
        enable_web_search: 'off',
        enable_web_citations: false,
        enable_web_scraping: false,
        include_service_system_prompt: true,
        include_search_results_in_stream: false,
        return_search_results_as_documents: false,
        strip_thinking_response: false,
        disable_thinking: false,
        web_search_citations: [],
      },
    })
    expect(served).toMatchObject({ model: { id: 'm' }, providerId: 'main', retries: 1, deprecation: undefined })
  })

  test('writes the usage row with its lines, and corrects the token window', async () => {
    const harness = createChatHarness({ router: scriptRouter(() => jsonAnswer(ANSWER), 2) })
    await harness.complete()
    expect(harness.end).toEqual({
      kind: 'settled',
      chargedNanoUsd: 10n * INPUT_NANO + 4n * OUTPUT_NANO,
      usage: {
        sku: 'm',
        modelName: 'Model M',
        modelType: 'LLM',
        unitType: 'tokens',
        lines: [
          { type: 'Input', units: 10, amountNanoUsd: 10_000n, unitPriceUsd: '0.000001' },
          { type: 'Output', units: 4, amountNanoUsd: 8_000n, unitPriceUsd: '0.000002' },
        ],
        outcome: 'completed',
        estimated: false,
        upstreamId: 'main',
        retries: 2,
        durationMs: 0,
      },
    })
    expect(harness.metering.records[0]?.usedTokens).toBe(14)
  })

  test('cached tokens cost their own rate', async () => {
    const usage = { ...USAGE, prompt_tokens_details: { cached_tokens: 6 } }
    const harness = createChatHarness({ router: scriptRouter(() => jsonAnswer(completion({ content: 'x' }, usage))) })
    await harness.complete()
    expect(harness.usage?.lines).toContainEqual({
      type: 'Cache Read',
      units: 6,
      amountNanoUsd: 3_000n,
      unitPriceUsd: '0.0000005',
    })
  })

  test('is not given before its charge is durable', async () => {
    const harness = createChatHarness({ router: scriptRouter(() => jsonAnswer(ANSWER)) })
    const gate = Promise.withResolvers<void>()
    harness.metering.settleGate = gate.promise
    let answered = false
    const answer = harness.complete().then(() => (answered = true))
    while (harness.end?.kind !== 'settled') await new Promise(setImmediate)
    await new Promise(setImmediate)
    expect(answered).toBe(false)
    gate.resolve()
    await answer
  })
})

describe('usage that is not believed', () => {
  test.each([
    ['missing', undefined],
    ['null', null],
    ['negative', { prompt_tokens: 10, completion_tokens: -4 }],
    ['fractional', { prompt_tokens: 10.5, completion_tokens: 4 }],
    ['text', { prompt_tokens: '10', completion_tokens: 4 }],
    ['zero although there is text', { prompt_tokens: 10, completion_tokens: 0 }],
    ['without a prompt', { prompt_tokens: 0, completion_tokens: 4 }],
    [
      'more cached than there is',
      { prompt_tokens: 10, completion_tokens: 4, prompt_tokens_details: { cached_tokens: 11 } },
    ],
    ['beyond the context', { prompt_tokens: 10, completion_tokens: 1_000_000 }],
    ['infinite', { prompt_tokens: 1e300, completion_tokens: 4 }],
  ])('%s: both sides are counted, and marked as estimated', async (_, usage) => {
    const router = scriptRouter(() => jsonAnswer(completion({ content: 'one two three' }, usage)))
    const harness = createChatHarness({ router })
    const { body } = await harness.complete()
    // "Hi" and four tokens around the message; three words.
    expect(body['usage']).toMatchObject({ prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 })
    expect(harness.usage).toMatchObject({ estimated: true, outcome: 'completed' })
    expect(harness.end).toMatchObject({ chargedNanoUsd: 5n * INPUT_NANO + 3n * OUTPUT_NANO })
  })

  test('tool calls and thoughts count as completion', async () => {
    const message = {
      content: null,
      reasoning_content: 'think about it',
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'get', arguments: '{"a":1}' } }],
    }
    const harness = createChatHarness({ router: scriptRouter(() => jsonAnswer(completion(message))) })
    const { body } = await harness.complete()
    expect(body['usage']).toMatchObject({
      completion_tokens: await harness.counter.countCompletion('think about itget{"a":1}'),
    })
  })

  test('a count above the hold never costs more than the hold', async () => {
    const router = scriptRouter(() => jsonAnswer(completion({ content: 'word '.repeat(500) })))
    const harness = createChatHarness({ router })
    await harness.complete({ max_tokens: 2 })
    const held = harness.metering.records[0]?.admission.holdNanoUsd
    expect(harness.end).toMatchObject({ kind: 'settled', chargedNanoUsd: held })
  })
})

describe('nothing is charged', () => {
  test.each([
    ['garbage', '<html>502</html>'],
    ['cut off', JSON.stringify(ANSWER).slice(0, -10)],
    ['empty', ''],
    ['no object', '[]'],
    ['an error with status 200', { error: { message: 'boom' } }],
    ['without choices', { ...ANSWER, choices: [] }],
    ['choices without messages', { ...ANSWER, choices: [{ index: 0, text: 'x' }] }],
  ])('for a response that is %s', async (_, answer) => {
    const harness = createChatHarness({ router: scriptRouter(() => jsonAnswer(answer)) })
    await expect(harness.complete()).rejects.toMatchObject({ code: 'upstream_failed' })
    expect(harness.end).toEqual({ kind: 'released' })
  })

  test('for a provider failure, whose error is passed on', async () => {
    const error = new DomainError('upstream_overloaded', 'busy', { retryAfterSeconds: 7 })
    const harness = createChatHarness({ router: scriptRouter(() => Promise.reject(error)) })
    await expect(harness.complete()).rejects.toBe(error)
    expect(harness.end).toEqual({ kind: 'released' })
  })

  test('for a client that disconnects before the response begins; the provider is cancelled', async () => {
    const router = scriptRouter(
      ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')))),
    )
    const harness = createChatHarness({ router })
    const answer = harness.complete()
    while (router.requests.length === 0) await new Promise(setImmediate)
    harness.abort.abort()
    await expect(answer).rejects.toMatchObject({ code: 'unavailable' })
    expect(harness.end).toEqual({ kind: 'released' })
  })

  test('a charge that fails gives an error and no response', async () => {
    const harness = createChatHarness({ router: scriptRouter(() => jsonAnswer(ANSWER)) })
    harness.metering.settleFailure = new DomainError('unavailable', 'lost')
    await expect(harness.complete()).rejects.toMatchObject({ code: 'unavailable', message: 'lost' })
  })

  test('and nothing is sent if the balance does not cover the worst case', async () => {
    const router = scriptRouter(() => jsonAnswer(ANSWER))
    const harness = createChatHarness({ router, balanceNanoUsd: 100n })
    await expect(harness.complete()).rejects.toMatchObject({ code: 'insufficient_balance' })
    expect(router.requests).toEqual([])
  })
})

describe('thoughts', () => {
  test('are taken out where the caller asks for it', async () => {
    const message = { content: '<think>hm</think>\n\nYes', reasoning_content: 'hm' }
    const harness = createChatHarness({ router: scriptRouter(() => jsonAnswer(completion(message, USAGE))) })
    const { body } = await harness.complete({ service_parameters: { strip_thinking_response: true } })
    expect(body['choices']).toMatchObject([{ message: { role: 'assistant', content: 'Yes' } }])
    expect(JSON.stringify(body)).not.toContain('hm')
  })
})

describe('a response whose values would take many times the memory of its bytes', () => {
  const withExtra = (extra: string): string => `{"extra":${extra},${JSON.stringify(ANSWER).slice(1)}`

  test.each([
    ['objects', `[${'{},'.repeat(5_000_000)}{}]`],
    ['numbers', `[${'0,'.repeat(17_000_000)}0]`],
    ['members', `{${'"a":0,'.repeat(5_000_000)}"a":0}`],
    ['levels', '['.repeat(20_000) + ']'.repeat(20_000)],
  ])('is rejected because of its %s, and costs nothing', async (_, extra) => {
    const harness = createChatHarness({ router: scriptRouter(() => jsonAnswer(withExtra(extra))) })
    await expect(harness.complete()).rejects.toMatchObject({ code: 'upstream_failed' })
    expect(harness.end).toMatchObject({ kind: 'released' })
  })

  test('is accepted if the structure is within strings', async () => {
    const text = '[{:,'.repeat(5_000_000)
    const harness = createChatHarness({ router: scriptRouter(() => jsonAnswer(withExtra(JSON.stringify(text)))) })
    await expect(harness.complete()).resolves.toBeDefined()
  })
})
