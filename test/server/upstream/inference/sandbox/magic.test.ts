import { expect, test } from 'vitest'
import { readText } from '../../../../support/drain.ts'
import { chat, send, sendEmbeddings, stream, streamData, user } from './sandbox-client.ts'

const withUsage = { stream_options: { include_usage: true } }

test.each([400, 401, 404, 422, 429, 500, 503, 504])('[[error:%i]] forces the status', async (status) => {
  const response = await send({ messages: user(`please [[error:${status}]]`) })
  expect(response.status).toBe(status)
  expect(response.retryAfterSeconds).toBe(status === 429 || status === 503 ? 2 : undefined)
  expect(JSON.parse(await readText(response.body)).error.message).toContain(`status ${status}`)
})

test('[[error:context]] is a context overflow', async () => {
  const response = await send({ messages: user('[[error:context]]') })
  expect(JSON.parse(await readText(response.body)).error.code).toBe('context_length_exceeded')
})

test('[[error:timeout]] sends nothing until the caller disconnects', async () => {
  const leaving = new AbortController()
  const pending = send({ messages: user('[[error:timeout]]') }, leaving.signal)
  leaving.abort()
  await expect(pending).rejects.toMatchObject({ name: 'AbortError' })
})

test('only the last user message counts, and unknown commands are text', async () => {
  const messages = [...user('[[error:500]]'), ...user('[[error:200]] [[nonsense:1]]')]
  expect((await send({ messages })).status).toBe(200)
})

test('errors work for embeddings too', async () => {
  expect((await sendEmbeddings({ input: ['[[error:500]]'] })).status).toBe(500)
})

test('[[stream:cut]] ends after three chunks without finish or [DONE]', async () => {
  const chunks = await stream({ messages: user('[[stream:cut]]') })
  expect(chunks).toHaveLength(3)
  expect(chunks.flatMap(({ choices }) => choices).every((choice) => choice.finish_reason === null)).toBe(true)
  expect(await streamData({ messages: user('[[stream:cut]]') })).not.toContain('[DONE]')
})

test('[[stream:garbage]] puts a frame of broken JSON among good ones', async () => {
  const data = await streamData({ messages: user('[[stream:garbage]]') })
  expect(() => JSON.parse(data[3] ?? '{}')).toThrow(SyntaxError)
  expect(data.at(-1)).toBe('[DONE]')
})

test('[[usage:missing]] leaves usage out', async () => {
  expect((await chat({ messages: user('[[usage:missing]]') })).usage).toBeUndefined()
  const chunks = await stream({ messages: user('[[usage:missing]]'), ...withUsage })
  expect(chunks.every(({ usage }) => usage === undefined)).toBe(true)
})

test.each([
  ['negative', (tokens: number) => tokens < 0],
  ['absurd', (tokens: number) => tokens >= 1e9],
])('[[usage:%s]] counts wrong', async (kind, isWrong) => {
  const response = await send({ messages: user(`[[usage:${kind}]]`) })
  const { usage } = JSON.parse(await readText(response.body))
  expect([usage.prompt_tokens, usage.completion_tokens, usage.total_tokens].every(isWrong)).toBe(true)
})

test('[[usage:cached]] takes half of the prompt from the cache', async () => {
  const { usage } = await chat({ messages: user('[[usage:cached]]') })
  expect(usage?.prompt_tokens_details.cached_tokens).toBe(Math.floor((usage?.prompt_tokens ?? 0) / 2))
})

test('[[usage:late]] sends usage turns of the event loop after the finish', async () => {
  const response = await send({ messages: user('[[usage:late]]'), stream: true, ...withUsage })
  let turns = 0
  let finishedAt = Infinity
  const count = () => {
    turns += 1
    timer = setImmediate(count)
  }
  let timer = setImmediate(count)
  for await (const part of response.body) {
    const text = Buffer.from(part).toString()
    if (text.includes('"finish_reason":"stop"')) finishedAt = turns
    if (text.includes('"usage"')) expect(turns - finishedAt).toBeGreaterThanOrEqual(4)
  }
  clearImmediate(timer)
  expect(finishedAt).toBeLessThan(Infinity)
})

test('[[content:violation]] ends with content_filter', async () => {
  expect((await chat({ messages: user('[[content:violation]]') })).choice.finish_reason).toBe('content_filter')
  const chunks = await stream({ messages: user('[[content:violation]]') })
  expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('content_filter')
})

test('[[slow]] gives the same response', async () => {
  const chunks = await stream({ messages: user('[[slow]]'), max_tokens: 3 })
  expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('length')
})
