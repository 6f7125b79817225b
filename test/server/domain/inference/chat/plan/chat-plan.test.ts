import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { describe, expect, test } from 'vitest'
import { createChatHarness } from '../../../../../support/chat-harness.ts'
import { completion, jsonAnswer, scriptRouter } from '../../../../../support/provider-script.ts'

const ABLE = {
  supportsFunctionCalling: true,
  supportsVision: true,
  supportsResponseSchema: true,
  supportsLogProbs: true,
  supportsVideoInput: true,
}

const router = scriptRouter(() => jsonAnswer(completion({ content: 'x' })))
const harness = createChatHarness({ router, model: { capabilities: ABLE, contextTokens: 2_000 } })
const plain = createChatHarness({ router })

const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }
const times = (count: number, item: object) => Array.from({ length: count }, () => item)
const user = (content: unknown) => ({ messages: [{ role: 'user', content }] })

describe('accepted', () => {
  test.each([
    [
      'null in place of absent fields',
      { temperature: null, n: null, stop: null, tools: null, stream: null, seed: null },
    ],
    ['any integer seed', { seed: -3 }],
    ['unknown fields', { logit_bias: { 5: 1 }, guided_json: {}, whatever: true }],
    ['unknown enum values', { reasoning_effort: 'extreme', verbosity: 'epic', service_tier: 'x' }],
    ['max_tokens of zero or less', { max_tokens: 0, max_completion_tokens: -1 }],
    ['max_completion_tokens beside a larger max_tokens', { max_completion_tokens: 5, max_tokens: 999_999 }],
    ['one stop string', { stop: 'x' }],
    ['four stop strings', { stop: ['a', 'b', 'c', 'd'] }],
    ['tools in OpenAI form', { tools: [{ type: 'function', function: { name: 'f' } }], tool_choice: 'auto' }],
    ['an empty list of tools', { tools: [] }],
    ['a schema', { response_format: { type: 'json_schema', json_schema: { name: 'n', schema: {} } } }],
    ['an image', user([{ type: 'text', text: 'what?' }, image])],
    ['an unknown kind of part', user([{ type: 'thermal', data: 1 }])],
    ['cache_control', user([{ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }])],
    [
      'an assistant turn of tool calls alone',
      { messages: [{ role: 'assistant', content: null, tool_calls: [{ id: 'c' }] }] },
    ],
    ['an unknown role', { messages: [{ role: 'critic', content: 'x' }] }],
    ['input for messages', { messages: undefined, input: [{ role: 'user', content: 'x' }] }],
    ['a string as input', { messages: undefined, input: 'x' }],
    ['128 choices', { n: 128 }],
    ['an empty system text', { messages: [{ role: 'system', content: '' }] }],
    ['an empty developer text', { messages: [{ role: 'developer', content: '' }] }],
    ['an empty user text', { messages: [{ role: 'user', content: '' }] }],
    [
      'an empty assistant message beside another',
      {
        messages: [
          { role: 'assistant', content: '' },
          { role: 'user', content: '' },
        ],
      },
    ],
  ])('%s', async (_, body) => {
    await expect(harness.plan(body)).resolves.toBeDefined()
  })
})

describe('rejected with invalid_request that names the field', () => {
  test.each([
    [{ messages: undefined }, 'messages'],
    [{ messages: [] }, 'messages'],
    [{ messages: 'hi' }, 'messages'],
    [{ messages: [{ content: 'x' }] }, 'messages.0.role'],
    [{ messages: [{ role: 'user' }] }, 'messages.0.content'],
    [{ messages: [{ role: 'user', content: [] }] }, 'messages.0.content'],
    [{ messages: [{ role: 'user', content: null }] }, 'messages.0.content'],
    [{ messages: [{ role: 'assistant', content: '' }] }, 'messages'],
    [{ messages: [{ role: 'assistant' }, { role: 'assistant', content: null, name: 'x' }] }, 'messages'],
    [user(5), 'messages.0.content'],
    [user([{ type: 'text' }]), 'messages.0.content.0.text'],
    [user([{ type: 'text', text: 'x' }, { type: 'image_url' }]), 'messages.0.content.1.image_url'],
    [user([5]), 'messages.0.content.0'],
    [{ messages: [{ role: 'tool', content: 'x' }] }, 'messages.0.tool_call_id'],
    [{ temperature: 2.1 }, 'temperature'],
    [{ temperature: -1 }, 'temperature'],
    [{ temperature: '1' }, 'temperature'],
    [{ top_p: 1.5 }, 'top_p'],
    [{ frequency_penalty: 3 }, 'frequency_penalty'],
    [{ n: 0 }, 'n'],
    [{ n: 129 }, 'n'],
    [{ n: 1.5 }, 'n'],
    [{ seed: 1.5 }, 'seed'],
    [{ stop: [] }, 'stop'],
    [{ stop: ['a', 'b', 'c', 'd', 'e'] }, 'stop'],
    [{ stop: 5 }, 'stop'],
    [{ stream: 'yes' }, 'stream'],
    [{ max_tokens: 1.5 }, 'max_tokens'],
    [{ max_tokens: '5' }, 'max_tokens'],
    [{ max_tokens: 1_001 }, 'max_tokens'],
    [{ max_completion_tokens: 1_001 }, 'max_completion_tokens'],
    [{ top_logprobs: -1 }, 'top_logprobs'],
    [{ tools: 'x' }, 'tools'],
    [{ tools: [{ type: 'function', function: {} }] }, 'tools.0.function.name'],
    [{ tools: [{ type: 'web_search' }] }, 'tools.0.type'],
    [{ response_format: 'json' }, 'response_format'],
    [{ fallbacks: times(11, { model: 'm' }) }, 'fallbacks'],
    [user([image, image]), 'messages'],
    [user(times(11, image)), 'messages.0.content'],
    [user(times(4, { type: 'video_url', video_url: { url: 'x' } })), 'messages.0.content'],
  ])('%j', async (body, field) => {
    await expect(harness.plan(body)).rejects.toMatchObject({
      code: 'invalid_request',
      field,
      message: expect.stringContaining(`${field}: `),
    })
  })

  test.each([[null], [[]], ['text'], [5], [undefined]])('a body that is %j', async (body) => {
    const refusal = {
      code: 'invalid_request',
      message: expect.stringMatching(/must be a JSON object|model is required/),
    }
    await expect(harness.chat.plan(harness.context.caller, body)).rejects.toMatchObject(refusal)
  })

  test('a limit above the model names the cap', async () => {
    await expect(harness.plan({ max_tokens: 1_001 })).rejects.toThrow(/is 1001, but the model m completes at most 1000/)
  })
})

describe('gates of a model that can do nothing special', () => {
  test.each([
    [{ tools: [{ type: 'function', function: { name: 'f' } }] }, 'tools', /function calling/],
    [user([image]), 'messages.0.content', /images/],
    [user([{ type: 'input_audio', input_audio: { data: 'x' } }]), 'messages.0.content', /audio/],
    [user([{ type: 'video_url', video_url: { url: 'x' } }]), 'messages.0.content', /video/],
    [{ response_format: { type: 'json_object' } }, 'response_format', /response formats/],
    [{ logprobs: true }, 'logprobs', /log probabilities/],
    [{ top_logprobs: 2 }, 'top_logprobs', /log probabilities/],
  ])('%j', async (body, field, message) => {
    await expect(plain.plan(body)).rejects.toMatchObject({
      code: 'invalid_request',
      field,
      message: expect.stringMatching(message),
    })
  })

  test('text as response format and false as logprobs pass', async () => {
    await expect(
      plain.plan({ response_format: { type: 'text' }, logprobs: false, top_logprobs: 0 }),
    ).resolves.toBeDefined()
  })
})

describe('the context', () => {
  test.each([
    [{ messages: [{ role: 'user', content: 'word '.repeat(2_000) }] }],
    [{ messages: [{ role: 'user', content: 'word '.repeat(1_500) }], max_tokens: 600 }],
    [{ messages: [{ role: 'user', content: ' '.repeat(1_000_000) }] }],
  ])('a prompt that does not fit is rejected: case %#', async (body) => {
    await expect(harness.plan(body)).rejects.toMatchObject({
      code: 'context_length_exceeded',
      field: 'messages',
      message: expect.stringContaining('maximum context length is 2000 tokens'),
    })
  })

  test.each([
    ['of many tokens in few characters', '!@#$%^&*()_+ '.repeat(150)],
    ['of few tokens in many characters', ' '.repeat(100_000)],
    ['of long words', 'internationalization '.repeat(1_500)],
  ])('a prompt %s is judged by its exact count', async (_, content) => {
    const exact = countTokens(content)
    const plan = harness.plan({ messages: [{ role: 'user', content }] })
    if (exact < 2_000) await expect(plan).resolves.toBeDefined()
    else await expect(plan).rejects.toThrow(`the messages have ${exact}.`)
  })

  test('the message names both counts', async () => {
    const content = 'word '.repeat(1_500)
    await expect(harness.plan({ messages: [{ role: 'user', content }], max_tokens: 600 })).rejects.toThrow(
      `maximum context length is 2000 tokens, but the messages have ${countTokens(content)}, and 600 completion tokens`,
    )
  })

  test('schemas and tools, which a model may read in another form, do not count against the context', async () => {
    const tools = [{ type: 'function', function: { name: 'f', description: 'word '.repeat(3_000) } }]
    await expect(harness.plan({ tools })).resolves.toMatchObject({ promptTokens: expect.any(Number) })
  })

  test('a prompt that fits is not rejected for what the model could write at most', async () => {
    const plan = await harness.plan({ messages: [{ role: 'user', content: 'word '.repeat(1_500) }] })
    expect(plan.heldCompletionTokens).toBeLessThan(500)
  })
})

describe('the hold', () => {
  test('covers the prompt with a margin, and the limit for each choice', async () => {
    // 1 token of text and 4 around it, a quarter more and 16 a message: 23 in; 3 times 50 out.
    const plan = await plain.plan({ max_tokens: 50, n: 3 })
    expect(plan.holdNanoUsd).toBe(23n * 1_000n + 150n * 2_000n)
    expect(plan.ratePlan.tokens?.weight).toBe(5 + 150)
  })

  test("takes the model's cap where the caller has no limit, and an ordinary response from the token window", async () => {
    const plan = await plain.plan({})
    expect(plan.holdNanoUsd).toBe(23n * 1_000n + 1_000n * 2_000n)
    expect(plan.ratePlan.tokens?.weight).toBe(5 + 1_000)
  })

  test.each([
    ['tools', { tools: [{ type: 'function', function: { name: 'f', description: 'word '.repeat(100) } }] }],
    ['unknown fields, which may be documents', { documents: [{ text: 'word '.repeat(100) }] }],
    [
      'thoughts of earlier turns',
      { messages: [{ role: 'assistant', content: 'x', reasoning_content: 'word '.repeat(100) }] },
    ],
    [
      'tool calls',
      { messages: [{ role: 'assistant', tool_calls: [{ function: { arguments: 'word '.repeat(100) } }] }] },
    ],
  ])('counts %s', async (_, body) => {
    expect((await harness.plan(body)).promptTokens).toBeGreaterThan(100)
  })

  test('a 20,000-letter word is measured, not rejected with a fault', async () => {
    const long = createChatHarness({ router, model: { contextTokens: 100_000 } })
    const plan = await long.plan({ messages: [{ role: 'user', content: 'a'.repeat(20_000) }] })
    expect(plan.promptTokens).toBeGreaterThan(2_000)
  })
})

test('modelPrivacy of the key is kept', async () => {
  const restricted = createChatHarness({
    router,
    caller: { modelPrivacy: 'PRIVATE_TEXT' },
    model: { privacy: 'anonymized' },
  })
  await expect(restricted.plan({})).rejects.toMatchObject({ code: 'model_privacy' })
})
