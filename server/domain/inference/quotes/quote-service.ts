import type { ModelPrivacy } from '../../caller.ts'
import { type ImagePrice, priceImage } from '../../catalogue/image-pricing.ts'
import type { ModelDefinition } from '../../catalogue/model-definition.ts'
import { assertModelAllowed } from '../../catalogue/model-privacy.ts'
import type { PricedUsage } from '../../catalogue/token-pricing.ts'
import { type ChatPlannerDeps, expectedTokens, measureChat, uncappedTokens } from '../chat/plan/chat-plan.ts'
import { readCompletionLimit } from '../chat/plan/completion-limit.ts'
import { assertFitsContext, heldPromptTokens } from '../chat/plan/prompt-size.ts'
import type { ChatQuoteInput, ImageQuoteInput } from './quote-inputs.ts'

export interface ChatQuote {
  model: ModelDefinition
  promptTokens: number
  expectedCompletionTokens: number
  /** Reserved before the request runs: the most that it can cost, unless a stream is allowed to exceed it. */
  holdNanoUsd: bigint
  expected: PricedUsage
}

export interface ImageQuote extends ImagePrice {
  model: ModelDefinition
  count: number
  totalNanoUsd: bigint
}

/** Quotes a request with the same code that reserves and charges. Nothing is reserved, counted or charged. */
export class QuoteService {
  readonly #deps: Omit<ChatPlannerDeps, 'ratePlans'>

  constructor(deps: Omit<ChatPlannerDeps, 'ratePlans'>) {
    this.#deps = deps
  }

  /** Fails as the request itself would: `invalid_request`, `model_not_found`, `model_privacy`, `context_length_exceeded`, `unavailable`. */
  async chat(modelPrivacy: ModelPrivacy, input: ChatQuoteInput): Promise<ChatQuote> {
    if (input.promptTokens != null) return this.#ofTokens(modelPrivacy, { ...input, promptTokens: input.promptTokens })
    const { model, messages, maxTokens, choices } = input
    const body = { model, messages, n: choices, ...(maxTokens == null ? {} : { max_completion_tokens: maxTokens }) }
    const measured = await measureChat(modelPrivacy, body, this.#deps)
    const { resolved, promptTokens, expectedCompletionTokens, holdNanoUsd } = measured
    const expected = resolved.pricing.price(toUsage(promptTokens, expectedCompletionTokens))
    return { model: resolved.model, promptTokens, expectedCompletionTokens, holdNanoUsd, expected }
  }

  /** Fails with `invalid_request`, `model_not_found`, `model_privacy` or `unavailable`. */
  image(modelPrivacy: ModelPrivacy, { model: name, count, ...settings }: ImageQuoteInput): ImageQuote {
    const { model } = this.#deps.catalogue.resolve(name, 'image')
    assertModelAllowed(modelPrivacy, model)
    const price = priceImage(model, settings)
    return { ...price, model, count, totalNanoUsd: price.priceNanoUsd * BigInt(count) }
  }

  #ofTokens(
    modelPrivacy: ModelPrivacy,
    { model: name, promptTokens, maxTokens, choices }: ChatQuoteInput & { promptTokens: number },
  ): ChatQuote {
    const { model, pricing } = this.#deps.catalogue.resolve(name, 'text')
    assertModelAllowed(modelPrivacy, model)
    const limit = readCompletionLimit(maxTokens == null ? {} : { max_completion_tokens: maxTokens }, model)
    const heldTokens = heldPromptTokens(promptTokens, 1, model)
    assertFitsContext({ tokens: promptTokens, atLeast: promptTokens }, limit, model)
    const heldCompletionTokens = choices * (limit ?? uncappedTokens(model, promptTokens))
    const expectedCompletionTokens = choices * expectedTokens(model, limit)
    return {
      model,
      promptTokens,
      expectedCompletionTokens,
      holdNanoUsd: pricing.worstCaseNanoUsd({ promptTokens: heldTokens, completionTokens: heldCompletionTokens }),
      expected: pricing.price(toUsage(promptTokens, expectedCompletionTokens)),
    }
  }
}

function toUsage(promptTokens: number, completionTokens: number) {
  return { promptTokens, completionTokens, cachedTokens: 0, cacheWriteTokens: 0 }
}
