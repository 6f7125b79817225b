import { describe, expect, test } from 'vitest'
import { chat, join, send, stream, streamData, user } from './sandbox-client.ts'

describe('responses', () => {
  test('are labelled, echo the question and are deterministic', async () => {
    const first = await chat({ messages: user('How are you?') })
    expect(first.message.content).toMatch(/^\[sandbox\] You said: "How are you\?"/)
    expect(first.choice.finish_reason).toBe('stop')
    expect((await chat({ messages: user('How are you?') })).id).toBe(first.id)
    expect((await chat({ messages: user('And you?') })).id).not.toBe(first.id)
  })

  test('take the last user message, in parts too, and leave magic out', async () => {
    const parts = [
      { type: 'text', text: 'one [[usage:missing]]' },
      { type: 'image_url', image_url: { url: 'data:,' } },
    ]
    const messages = [...user('zero'), { role: 'user', content: parts }, { role: 'assistant', content: 'hm' }]
    expect((await chat({ messages })).message.content).toContain('You said: "one"')
  })

  test('come n times, each its own', async () => {
    const { choices } = await chat({ messages: user('hi'), n: 3 })
    expect(choices.map(({ index }) => index)).toEqual([0, 1, 2])
    expect(new Set(choices.map(({ message }) => message.content)).size).toBe(3)
  })

  test('count tokens as o200k does, with overhead per message', async () => {
    const { usage, message } = await chat({ messages: [...user('Hello world'), { role: 'system', content: 'Hi' }] })
    // 3 per answer, 3 per message, one per role, 2 for "Hello world", 1 for "Hi".
    expect(usage?.prompt_tokens).toBe(14)
    expect(usage?.total_tokens).toBe(14 + (usage?.completion_tokens ?? 0))
    expect(message.content?.length).toBeGreaterThan(usage?.completion_tokens ?? Infinity)
  })

  test.each(['max_tokens', 'max_completion_tokens'])('stop at %s with finish_reason length', async (field) => {
    const { usage, choice } = await chat({ messages: user('hi'), [field]: 5 })
    expect(choice.finish_reason).toBe('length')
    expect(usage?.completion_tokens).toBe(5)
  })

  test('stop before a stop sequence', async () => {
    const { message, choice } = await chat({ messages: user('one two'), stop: ['nowhere', ' two'] })
    expect(message.content).toBe('[sandbox] You said: "one')
    expect(choice.finish_reason).toBe('stop')
  })

  test('are as long as [[words:n]] requests', async () => {
    const { message } = await chat({ messages: user('[[words:300]]') })
    expect(message.content?.split(' ')).toHaveLength(301)
  })

  test.each([
    [{}, /messages/],
    [{ messages: [] }, /messages/],
    [{ messages: user('x'), n: 1_000 }, /n:/],
  ])('to %j are a 400 that names the field', async (body, message) => {
    const response = await send(body)
    expect(response.status).toBe(400)
    for await (const part of response.body)
      expect(JSON.parse(Buffer.from(part).toString()).error.message).toMatch(message)
  })

  test('are immediate for one endless word', async () => {
    const { usage } = await chat({ messages: user('a'.repeat(50_000)) })
    expect(usage?.prompt_tokens).toBeGreaterThan(1_000)
  })
})

describe('streams', () => {
  const body = { messages: user('How are you?'), stream_options: { include_usage: true } }

  test('give the same response and usage as JSON, in several deltas, and end with [DONE]', async () => {
    const whole = await chat({ messages: body.messages })
    const data = await streamData(body)
    const chunks = await stream(body)
    expect(data.at(-1)).toBe('[DONE]')
    expect(join(chunks, 'content')).toBe(whole.message.content)
    expect(chunks.filter(({ choices }) => (choices[0]?.delta.content ?? '') !== '').length).toBeGreaterThan(5)
    expect(chunks[0]?.choices[0]?.delta).toEqual({ role: 'assistant', content: '' })
    expect(chunks.at(-2)?.choices[0]).toMatchObject({ delta: {}, finish_reason: 'stop' })
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: whole.usage })
  })

  test('carry no usage without include_usage', async () => {
    const chunks = await stream({ messages: body.messages })
    expect(chunks.every(({ usage }) => usage === undefined)).toBe(true)
  })

  test('give every choice its index and its finish', async () => {
    const chunks = await stream({ ...body, n: 2 })
    const ends = chunks.flatMap(({ choices }) => choices).filter((choice) => choice.finish_reason !== null)
    expect(ends.map(({ index }) => index)).toEqual([0, 1])
    expect(join(chunks, 'content', 1)).toContain('(choice 2)')
  })

  test('end when the caller disconnects', async () => {
    const leaving = new AbortController()
    const response = await send({ messages: user('[[slow]] hi'), stream: true }, leaving.signal)
    const reading = (async () => {
      for await (const part of response.body) if (part.length > 0) leaving.abort()
    })()
    await expect(reading).rejects.toMatchObject({ name: 'AbortError' })
  })
})

describe('reasoning', () => {
  test.each([
    [{ model: 'sandbox-reasoner' }],
    [{ reasoning_effort: 'low' }],
    [{ reasoning: { effort: 'high' } }],
    [{ reasoning: { enabled: true } }],
  ])('comes before the content for %j and is counted', async (extra) => {
    const whole = await chat({ ...extra, messages: user('hi') })
    expect(whole.message.reasoning_content).toContain('[sandbox]')
    expect(whole.usage?.completion_tokens_details.reasoning_tokens).toBeGreaterThan(5)
    const chunks = await stream({ ...extra, messages: user('hi') })
    expect(join(chunks, 'reasoning_content')).toBe(whole.message.reasoning_content)
    const kinds = chunks.flatMap(({ choices }) => choices.flatMap(({ delta }) => Object.keys(delta)))
    expect(kinds.lastIndexOf('reasoning_content')).toBeLessThan(kinds.indexOf('content', 2))
  })

  test.each([
    [{ reasoning_effort: 'none' }],
    [{ reasoning: { enabled: false } }],
    [{ chat_template_kwargs: { enable_thinking: false } }],
  ])('is switched off by %j', async (extra) => {
    const { message, usage } = await chat({ model: 'sandbox-reasoner', ...extra, messages: user('[[think-tags]]') })
    expect(message).not.toHaveProperty('reasoning_content')
    expect(message.content).not.toContain('<think>')
    expect(usage?.completion_tokens_details.reasoning_tokens).toBe(0)
  })

  test('comes in the content as old models put it on [[think-tags]]', async () => {
    const { message } = await chat({ model: 'sandbox-reasoner', messages: user('[[think-tags]] hi') })
    expect(message.content).toMatch(/^<think>.+<\/think>\n\n\[sandbox\] You said: "hi"/)
    expect(message).not.toHaveProperty('reasoning_content')
  })

  test('uses up max_tokens first', async () => {
    const { message, choice } = await chat({ model: 'sandbox-reasoner', messages: user('hi'), max_tokens: 4 })
    expect(message.content).toBe('')
    expect(choice.finish_reason).toBe('length')
  })
})
