import { once } from 'node:events'
import { createServer } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { DomainError } from '../../../../server/domain/errors.ts'
import type { InferenceProvider } from '../../../../server/domain/inference/providers/provider.ts'
import { createOpenAiProvider } from '../../../../server/upstream/inference/openai-provider.ts'
import { readText } from '../../../support/drain.ts'
import { CONTENT, streamFrames } from '../../../support/provider-replies.ts'
import { type ProviderServer, startProviderServer } from '../../../support/provider-server.ts'

let server: ProviderServer
let provider: InferenceProvider

beforeAll(async () => {
  server = await startProviderServer()
  provider = createOpenAiProvider({ id: 'main', baseUrl: `${server.url}/`, apiKey: 'sk-test', timeoutSeconds: 20 })
})
beforeEach(() => {
  server.requests.length = 0
})
afterAll(async () => {
  await provider.close()
  await server.close()
})

function chat(text: string, { stream = false, using = provider, signal = new AbortController().signal } = {}) {
  const value = {
    messages: [{ role: 'user', content: text }],
    ...(stream ? { stream, stream_options: { include_usage: true } } : {}),
  }
  const accepts = stream ? 'events' : 'json'
  return using.send({ operation: 'chat', model: 'fake-model', body: { kind: 'json', value }, accepts, signal })
}

/** What the reader got before the body broke off, and the error that ended it. */
async function readUntilError(body: AsyncIterable<Uint8Array>): Promise<{ text: string; error: unknown }> {
  let text = ''
  try {
    for await (const part of body) text += Buffer.from(part).toString()
  } catch (error) {
    return { text, error }
  }
  throw new Error('the body ended without an error')
}

describe('requests', () => {
  test('go to the path below the base URL with key, JSON type and the unchanged body', async () => {
    const response = await chat('hi')
    expect(JSON.parse(await readText(response.body)).choices[0].message.content).toBe(CONTENT)
    expect(response).toMatchObject({ status: 200, contentType: 'application/json', retryAfterSeconds: undefined })
    expect(server.requests).toHaveLength(1)
    expect(server.requests[0]).toMatchObject({
      path: '/v1/chat/completions',
      headers: { authorization: 'Bearer sk-test', 'content-type': 'application/json' },
      body: { model: 'fake-model', messages: [{ role: 'user', content: 'hi' }] },
    })
  })

  test('carry no authorization header if no key is configured', async () => {
    const keyless = createOpenAiProvider({ id: 'keyless', baseUrl: server.url })
    await readText((await chat('hi', { using: keyless })).body)
    expect(server.requests[0]?.headers).not.toHaveProperty('authorization')
    await keyless.close()
  })

  test('keep the query of the base URL', async () => {
    const versioned = createOpenAiProvider({ id: 'versioned', baseUrl: `${server.url}?api-version=7` })
    await readText((await chat('hi', { using: versioned })).body)
    expect(server.requests[0]?.path).toBe('/v1/chat/completions?api-version=7')
    await versioned.close()
  })
})

describe('streams', () => {
  test('arrive byte for byte', async () => {
    const response = await chat('hi', { stream: true })
    expect(response.contentType).toBe('text/event-stream; charset=utf-8')
    expect(await readText(response.body)).toBe(streamFrames().join(''))
  })

  test('arrive whole when frames and characters are torn apart on the way', async () => {
    expect(await readText((await chat('[[fault:split]]', { stream: true })).body)).toBe(streamFrames().join(''))
  })

  test('arrive whole with 32 MB although the reader starts slowly', async () => {
    const response = await chat('[[fault:huge-body]]')
    let size = 0
    for await (const part of response.body) {
      size += part.length
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(size).toBe(32 * 1_024 * 1_024)
  })
})

describe('responses of every status pass through', () => {
  test.each([400, 401, 403, 404, 413, 422, 429, 500, 503])('%i', async (status) => {
    const response = await chat(`[[fault:status-${status}]]`)
    expect(response.status).toBe(status)
    expect(response.retryAfterSeconds).toBe(status === 429 ? 7 : undefined)
    expect(JSON.parse(await readText(response.body))).toHaveProperty('error.message')
  })

  test('a redirect is not followed', async () => {
    const response = await chat('[[fault:redirect]]')
    expect(response.status).toBe(302)
    await readText(response.body)
    expect(server.requests).toHaveLength(1)
  })

  test.each(['html', 'truncated-json', 'garbage-json', 'json-for-stream'])(
    '%s is left to the caller',
    async (fault) => {
      const response = await chat(`[[fault:${fault}]]`)
      expect(response.status).toBe(200)
      expect(await readText(response.body)).not.toBe('')
    },
  )
})

describe('failures', () => {
  async function closedPort(): Promise<number> {
    const listener = createServer().listen(0, '127.0.0.1')
    await once(listener, 'listening')
    const address = listener.address()
    listener.close()
    return typeof address === 'object' && address !== null ? address.port : 0
  }

  test('a rejected connection is upstream_failed and names neither host nor key', async () => {
    const port = await closedPort()
    const dead = createOpenAiProvider({ id: 'dead', baseUrl: `http://127.0.0.1:${port}/v1`, apiKey: 'sk-test' })
    const error = await chat('hi', { using: dead }).catch((cause: unknown) => cause)
    expect(error).toBeInstanceOf(DomainError)
    expect(error).toMatchObject({ code: 'upstream_failed' })
    expect((error as DomainError).message).not.toMatch(new RegExp(`127\\.0|${port}|sk-test`))
    await dead.close()
  })

  test('a connection reset before the head is upstream_failed', async () => {
    await expect(chat('[[fault:reset-before-head]]')).rejects.toMatchObject({ code: 'upstream_failed' })
  })

  test('a connection reset in mid-stream delivers what arrived, then upstream_failed', async () => {
    const response = await chat('[[fault:reset-mid-body]]', { stream: true })
    const { text, error } = await readUntilError(response.body)
    expect(text).toBe(streamFrames().slice(0, 4).join(''))
    expect(error).toMatchObject({ code: 'upstream_failed' })
  })

  describe('silence', () => {
    let impatient: InferenceProvider
    beforeEach(() => {
      // The provider's time passes only when a test says so, however long the exchange takes.
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
      impatient = createOpenAiProvider({ id: 'impatient', baseUrl: server.url, timeoutSeconds: 0.5 })
    })
    afterEach(async () => {
      vi.useRealTimers()
      await impatient.close()
    })

    test('is upstream_timeout before the response headers', async () => {
      const refusal = expect(chat('[[fault:hang-before-head]]', { using: impatient })).rejects.toMatchObject({
        code: 'upstream_timeout',
      })
      while (server.requests.length === 0) await new Promise((resolve) => setImmediate(resolve))
      await vi.advanceTimersByTimeAsync(500)
      await refusal
    })

    test('is upstream_timeout within a stream, after the data that arrived', async () => {
      const response = await chat('[[fault:hang-mid-stream]]', { stream: true, using: impatient })
      const body = response.body[Symbol.asyncIterator]()
      const expected = streamFrames().slice(0, 4).join('')
      let text = ''
      while (text.length < expected.length) text += Buffer.from((await body.next()).value ?? '').toString()
      const refusal = expect(body.next()).rejects.toMatchObject({ code: 'upstream_timeout' })
      await vi.advanceTimersByTimeAsync(500)
      await refusal
      expect(text).toBe(expected)
    })
  })
})

describe('the caller disconnects', () => {
  test('before the head: the call rejects as aborted and the server sees it', async () => {
    const leaving = new AbortController()
    const pending = chat('[[fault:hang-before-head]]', { signal: leaving.signal })
    await expect.poll(() => server.requests.length).toBe(1)
    leaving.abort()
    await expect(pending).rejects.toMatchObject({ name: 'AbortError' })
    await expect.poll(() => server.requests[0]?.aborted).toBe(true)
  })

  test('before it asked: nothing is sent', async () => {
    await expect(chat('hi', { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' })
    expect(server.requests).toHaveLength(0)
  })

  test('in mid-stream: reading rejects as aborted and the server sees it', async () => {
    const leaving = new AbortController()
    const response = await chat('[[fault:heartbeat]]', { stream: true, signal: leaving.signal })
    const reading = readUntilError(response.body)
    leaving.abort()
    expect((await reading).error).toMatchObject({ name: 'AbortError' })
    await expect.poll(() => server.requests[0]?.aborted).toBe(true)
  })

  test('by ending its loop: the server sees it and the connection pool stays usable', async () => {
    const response = await chat('[[fault:heartbeat]]', { stream: true })
    for await (const part of response.body) if (part.length > 0) break
    await expect.poll(() => server.requests[0]?.aborted).toBe(true)
    expect((await chat('hi')).status).toBe(200)
  })
})
