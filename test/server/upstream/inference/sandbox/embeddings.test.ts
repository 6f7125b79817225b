import { expect, test } from 'vitest'
import { readText } from '../../../../support/drain.ts'
import { sendEmbeddings } from './sandbox-client.ts'
import { Embeddings } from './wire-shapes.ts'

async function embed(body: Record<string, unknown>) {
  const response = await sendEmbeddings(body)
  expect(response.status).toBe(200)
  return Embeddings.parse(JSON.parse(await readText(response.body)))
}

async function vectors(input: unknown, extra: object = {}): Promise<number[][]> {
  return (await embed({ input, ...extra })).data.map(({ embedding }) =>
    typeof embedding === 'string' ? [] : embedding,
  )
}

function cosine(a: number[] = [], b: number[] = []): number {
  return a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0)
}

test('similar texts are near, others are not', async () => {
  const [cats, catsToo, money] = await vectors([
    'The cat sat on the warm mat',
    'A cat was sitting on a warm mat',
    'Quarterly revenue exceeded expectations',
  ])
  expect(cosine(cats, catsToo)).toBeGreaterThan(0.4)
  expect(Math.abs(cosine(cats, money))).toBeLessThan(0.2)
})

test('words that share letters are nearer than words that do not', async () => {
  const [one, two, other] = await vectors(['organisation', 'organizations', 'blueberry'])
  expect(cosine(one, two)).toBeGreaterThan(cosine(one, other) + 0.2)
})

test.each(['hello', '', '!?', '日本語のテキスト'])('%j has length one and is the same each time', async (text) => {
  const [first, second] = await vectors([text, text])
  expect(first).toHaveLength(256)
  expect(Math.sqrt(cosine(first, first))).toBeCloseTo(1, 5)
  expect(second).toEqual(first)
})

test('dimensions are as requested', async () => {
  expect((await vectors('hello', { dimensions: 64 }))[0]).toHaveLength(64)
  expect((await sendEmbeddings({ input: 'hello', dimensions: 0 })).status).toBe(400)
})

test('base64 holds the same 32-bit floats', async () => {
  const { data } = await embed({ input: 'hello', encoding_format: 'base64' })
  const bytes = Buffer.from(String(data[0]?.embedding), 'base64')
  const floats = Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(4 * index))
  expect([floats]).toEqual(await vectors('hello'))
})

test('counts tokens of texts and of token arrays', async () => {
  expect((await embed({ input: ['Hello world', 'Hi'] })).usage).toEqual({ prompt_tokens: 3, total_tokens: 3 })
  expect((await embed({ input: [1, 2, 3] })).usage.prompt_tokens).toBe(3)
  expect((await embed({ input: [[1, 2], [3]] })).data).toHaveLength(2)
})

test('takes 2,048 inputs', async () => {
  const { data } = await embed({ input: Array.from({ length: 2_048 }, (_, index) => `text ${index}`), dimensions: 8 })
  expect(data.at(-1)?.index).toBe(2_047)
})
