import { z } from 'zod'
import { brokenAnswer } from '../providers/read-json-answer.ts'

const Answer = z.object({
  data: z.array(z.object({ embedding: z.union([z.string(), z.array(z.number())]) })),
  usage: z.unknown(),
})

export interface EmbeddingAnswer {
  data: { object: 'embedding'; index: number; embedding: string | number[] }[]
  usage: unknown
}

/** The vectors in the requested encoding, whatever the provider sent. Fails with `upstream_failed`. */
export function readEmbeddings(
  body: Record<string, unknown>,
  { count, encoding }: { count: number; encoding: 'float' | 'base64' },
): EmbeddingAnswer {
  const parsed = Answer.safeParse(body)
  if (!parsed.success || parsed.data.data.length !== count) {
    throw brokenAnswer("The model provider's response was not a list of embeddings.")
  }
  const data = parsed.data.data.map(({ embedding }, index) => ({
    object: 'embedding' as const,
    index,
    embedding: encode(embedding, encoding),
  }))
  return { data, usage: parsed.data.usage }
}

function encode(embedding: string | number[], encoding: 'float' | 'base64'): string | number[] {
  if (encoding === 'base64') return typeof embedding === 'string' ? embedding : toBase64(embedding)
  return typeof embedding === 'string' ? toFloats(embedding) : embedding
}

/** Little-endian 32-bit floats, as the OpenAI SDK decodes them. */
function toBase64(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * 4)
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * 4)
  return bytes.toString('base64')
}

function toFloats(text: string): number[] {
  const bytes = Buffer.from(text, 'base64')
  if (bytes.length === 0 || bytes.length % 4 !== 0)
    throw brokenAnswer("The model provider's embeddings were malformed.")
  return Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(index * 4))
}
