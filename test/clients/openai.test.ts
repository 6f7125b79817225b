import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.ts'

/** Prices of `test-model` in nano-USD a token. */
const INPUT = 150n
const OUTPUT = 600n

describe('the official OpenAI client', () => {
  let server: TestApp
  let client: OpenAI
  let accountId: string

  beforeAll(async () => {
    server = await startTestApp()
    const account = await server.createAccount()
    accountId = account.accountId
    client = new OpenAI({ apiKey: account.adminKey, baseURL: server.baseUrl, maxRetries: 0 })
  })
  afterAll(async () => {
    await server.assertLedgerClean()
    await server.close()
  })

  const costOf = async (work: () => Promise<{ prompt_tokens: number; completion_tokens: number }>) => {
    const before = await server.balanceNanoUsd(accountId)
    const usage = await work()
    return {
      charged: before - (await server.balanceNanoUsd(accountId)),
      expected: BigInt(usage.prompt_tokens) * INPUT + BigInt(usage.completion_tokens) * OUTPUT,
    }
  }
  const say = (content: string) => ({ model: 'test-model', messages: [{ role: 'user' as const, content }] })

  test('gets a chat completion, and the balance falls by exactly its price', async () => {
    const { charged, expected } = await costOf(async () => {
      const completion = await client.chat.completions.create(say('Hello'))
      expect(completion.object).toBe('chat.completion')
      expect(completion.model).toBe('test-model')
      expect(completion.choices[0]?.message.content).toBeTruthy()
      expect(completion).toHaveProperty('cost.usd')
      if (completion.usage === undefined) throw new Error('no usage')
      return completion.usage
    })
    expect(charged).toBe(expected)
    expect(charged).toBeGreaterThan(0n)
  })

  test('streams a chat completion with usage and cost before the end, though it did not ask for usage', async () => {
    const { charged, expected } = await costOf(async () => {
      const stream = await client.chat.completions.create({ ...say('Hello'), stream: true })
      let text = ''
      let last: OpenAI.ChatCompletionChunk | undefined
      for await (const chunk of stream) {
        text += chunk.choices[0]?.delta.content ?? ''
        last = chunk
      }
      expect(text).toBeTruthy()
      expect(last?.choices).toEqual([])
      expect(last).toHaveProperty('cost.usd')
      if (!last?.usage) throw new Error('no usage')
      return last.usage
    })
    expect(charged).toBe(expected)
  })

  test('calls tools', async () => {
    const completion = await client.chat.completions.create({
      ...say('[[fault:tool-calls]] What is the weather?'),
      tools: [{ type: 'function', function: { name: 'get_weather', parameters: { type: 'object', properties: {} } } }],
    })
    expect(completion.choices).toHaveLength(1)
  })

  test('gets embeddings, whether it asks for floats or lets the client ask for base64', async () => {
    const base64 = await client.embeddings.create({ model: 'test-embedding', input: ['one', 'two'] })
    const floats = await client.embeddings.create({ model: 'test-embedding', input: 'one', encoding_format: 'float' })
    expect(base64.data).toHaveLength(2)
    const [decoded, plain] = [base64.data[0]?.embedding ?? [], floats.data[0]?.embedding ?? []]
    expect(decoded).toHaveLength(plain.length)
    expect(decoded[0]).toBeCloseTo(plain[0] ?? Number.NaN, 5)
  })

  test('lists models and reads one', async () => {
    const models = await client.models.list()
    expect(models.data.map((model) => model.id)).toContain('test-model')
    expect((await client.models.retrieve('test-model')).id).toBe('test-model')
  })

  test('understands rejections: a wrong key, an unknown model, an empty balance', async () => {
    const stranger = new OpenAI({ apiKey: 'nonsense', baseURL: server.baseUrl, maxRetries: 0 })
    await expect(stranger.chat.completions.create(say('x'))).rejects.toBeInstanceOf(OpenAI.AuthenticationError)
    await expect(client.chat.completions.create({ ...say('x'), model: 'none' })).rejects.toBeInstanceOf(
      OpenAI.NotFoundError,
    )
    const poor = await server.createAccount({ grantNanoUsd: 1n })
    const broke = new OpenAI({ apiKey: poor.adminKey, baseURL: server.baseUrl, maxRetries: 0 })
    await expect(broke.chat.completions.create(say('x'))).rejects.toMatchObject({ status: 402 })
  })
})
