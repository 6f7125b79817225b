import { setImmediate as nextTurn } from 'node:timers/promises'
import { z } from 'zod'
import { hashFeatures } from './feature-hashing.ts'
import { loadTokenizer } from './tokenizer.ts'

const DEFAULT_DIMENSIONS = 256
const INPUTS_PER_TURN = 32

const TokenIds = z.array(z.int().min(0)).min(1)

export const EmbeddingsRequest = z.looseObject({
  model: z.string(),
  input: z.union([z.string(), z.array(z.string()).min(1), TokenIds, z.array(TokenIds).min(1)]),
  dimensions: z.int().min(1).max(8_192).nullish(),
  encoding_format: z.enum(['float', 'base64']).nullish(),
})
export type EmbeddingsRequest = z.output<typeof EmbeddingsRequest>

interface Input {
  text: string
  /** Known if the caller sent token ids instead of text. */
  tokens: number | undefined
}

/** The body of an embeddings response. Yields to the event loop between inputs, because callers send up to 2,048. */
export async function answerEmbeddings(request: EmbeddingsRequest, signal: AbortSignal): Promise<string> {
  const tokenizer = await loadTokenizer()
  const dimensions = request.dimensions ?? DEFAULT_DIMENSIONS
  const data: object[] = []
  let promptTokens = 0
  for (const [index, input] of readInputs(request.input).entries()) {
    if (index % INPUTS_PER_TURN === INPUTS_PER_TURN - 1) await nextTurn(undefined, { signal })
    promptTokens += input.tokens ?? tokenizer.count(input.text)
    const vector = hashFeatures(input.text, dimensions)
    const embedding = request.encoding_format === 'base64' ? toBase64(vector) : [...vector]
    data.push({ object: 'embedding', index, embedding })
  }
  const usage = { prompt_tokens: promptTokens, total_tokens: promptTokens }
  return JSON.stringify({ object: 'list', data, model: request.model, usage })
}

function readInputs(input: EmbeddingsRequest['input']): Input[] {
  if (typeof input === 'string') return [{ text: input, tokens: undefined }]
  if (input.every((part) => typeof part === 'number')) return [ofTokens(input)]
  return input.map((part) => {
    if (typeof part === 'string') return { text: part, tokens: undefined }
    return ofTokens(typeof part === 'number' ? [part] : part)
  })
}

function ofTokens(ids: number[]): Input {
  return { text: ids.join(' '), tokens: ids.length }
}

/** OpenAI's form: 32-bit floats, little endian. */
function toBase64(vector: Float32Array): string {
  const bytes = Buffer.alloc(vector.length * Float32Array.BYTES_PER_ELEMENT)
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * Float32Array.BYTES_PER_ELEMENT)
  return bytes.toString('base64')
}
