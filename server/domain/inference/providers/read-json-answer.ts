import { DomainError } from '../../errors.ts'
import { isTooComplex } from './answer-structure.ts'
import type { ProviderResponse } from './provider.ts'

/** A larger response is a fault or an attack; the largest embeddings response is two thirds of this. */
const ANSWER_BYTES_MAX = 128 * 1024 * 1024

/**
 * Reads the provider's JSON object. Fails with `upstream_failed` if the response is truncated, malformed or too large.
 */
export async function readJsonAnswer(response: ProviderResponse): Promise<Record<string, unknown>> {
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for await (const chunk of response.body) {
      size += chunk.length
      if (size > ANSWER_BYTES_MAX) throw brokenAnswer("The model provider's response was too large.")
      chunks.push(chunk)
    }
  } catch (cause) {
    if (cause instanceof DomainError) throw cause
    throw brokenAnswer("The model provider's response ended early.", cause)
  }
  const bytes = joined(chunks)
  if (isTooComplex(bytes)) throw brokenAnswer("The model provider's response had too many values.")
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch (cause) {
    throw brokenAnswer("The model provider's response was truncated or malformed.", cause)
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  throw brokenAnswer("The model provider's response was not a JSON object.")
}

/** Nearly every response arrives in one chunk, which needs no copy. */
function joined(chunks: readonly Uint8Array[]): Buffer {
  const [only] = chunks
  return chunks.length === 1 && only !== undefined
    ? Buffer.from(only.buffer, only.byteOffset, only.byteLength)
    : Buffer.concat(chunks)
}

/** `upstream_failed`: nothing was charged. */
export function brokenAnswer(what: string, cause?: unknown): DomainError {
  return new DomainError('upstream_failed', `${what} Nothing was charged. Try again, or choose another model.`, {
    cause,
  })
}
