import { DomainError } from '../../errors.ts'
import type { ModelDefinition } from '../model-definition.ts'
import type { TokenCounter } from '../token-counter.ts'
import { estimateTokens } from '../token-estimate.ts'

const INPUT_TOKENS_MAX = 8_192
/** Exact counting of one request's doubtful texts ends here, so that no request holds up the others. */
const COUNTED_CHARACTERS_MAX = 131_072

/** Fails with `context_length_exceeded` where a text surely has more tokens than the model reads. */
export function assertInputsFit(inputs: readonly string[], model: ModelDefinition, counter: TokenCounter): void {
  const { maxInputTokens } = model.constraints
  const limit = typeof maxInputTokens === 'number' ? maxInputTokens : INPUT_TOKENS_MAX
  let countable = COUNTED_CHARACTERS_MAX
  for (const [position, text] of inputs.entries()) {
    // A token is a byte at least, and the estimate is above the count of ordinary text.
    if (text.length * 3 <= limit || estimateTokens(text) <= limit) continue
    const exact = text.length <= countable
    const tokens = exact ? counter.countExactly(text) : counter.count([text]).atLeast
    if (exact) countable -= text.length
    if (tokens <= limit) continue
    const message = `The model ${model.id} reads at most ${limit} tokens of one text, and the text at position ${position} has ${exact ? 'about' : 'at least'} ${tokens}. Split it.`
    throw new DomainError('context_length_exceeded', message, { field: 'input' })
  }
}
