import type { ModelDefinition } from '../../catalogue/model-definition.ts'
import { DomainError } from '../../errors.ts'
import type { TokenCounter } from '../tokens/token-counter.ts'

const INPUT_TOKENS_MAX = 8_192
/** A token has at least one byte, and a UTF-16 code unit at most three. */
const BYTES_PER_CHARACTER_MAX = 3

export function inputTokensMax({ constraints: { maxInputTokens } }: Pick<ModelDefinition, 'constraints'>): number {
  return typeof maxInputTokens === 'number' ? maxInputTokens : INPUT_TOKENS_MAX
}

/** Fails with `context_length_exceeded` if a text has more tokens than the model reads, by exact count. */
export async function assertInputsFit(
  inputs: readonly string[],
  model: Pick<ModelDefinition, 'id' | 'constraints'>,
  counter: TokenCounter,
): Promise<void> {
  const limit = inputTokensMax(model)
  for (const [position, text] of inputs.entries()) {
    if (text.length * BYTES_PER_CHARACTER_MAX <= limit || Buffer.byteLength(text) <= limit) continue
    const { tokens, atLeast } = await counter.count([text], limit)
    if (atLeast <= limit) continue
    const count = atLeast === tokens ? `${tokens}` : `at least ${atLeast}`
    const message = `The model ${model.id} accepts at most ${limit} tokens per text, but the text at position ${position} has ${count}. Split it.`
    throw new DomainError('context_length_exceeded', message, { field: 'input' })
  }
}
