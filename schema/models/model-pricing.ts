import type { ModelPricing } from '../../server/domain/catalogue/model-definition.ts'
import { parseUsd } from '../../server/domain/money.ts'
import { builder } from '../builder.ts'

type Prices = Pick<ModelPricing, 'input' | 'output' | 'cache_input' | 'cache_write'>

/** Prices of tokens; long-context prices have the same form. */
const TokenPrices = builder.interfaceRef<Prices>('TokenPrices').implement({
  description: 'Prices in USD per million tokens; null if a price does not apply.',
  fields: (t) => ({
    input: t.field({
      type: 'Usd',
      nullable: true,
      description: 'Prompt tokens.',
      resolve: ({ input }) => toAmount(input),
    }),
    output: t.field({
      type: 'Usd',
      nullable: true,
      description: 'Completion tokens.',
      resolve: ({ output }) => toAmount(output),
    }),
    cacheInput: t.field({
      type: 'Usd',
      nullable: true,
      description: "Prompt tokens read from the provider's cache.",
      resolve: (prices) => toAmount(prices.cache_input),
    }),
    cacheWrite: t.field({
      type: 'Usd',
      nullable: true,
      description: "Prompt tokens written to the provider's cache.",
      resolve: (prices) => toAmount(prices.cache_write),
    }),
  }),
})

const ExtendedModelPricing = builder
  .objectRef<NonNullable<ModelPricing['extended']>>('ExtendedModelPricing')
  .implement({
    description: 'Prices of a request whose prompt is longer than the threshold. They apply to the whole request.',
    interfaces: [TokenPrices],
    fields: (t) => ({
      contextTokenThreshold: t.exposeInt('context_token_threshold', {
        description: 'Number of prompt tokens above which these prices apply.',
      }),
    }),
  })

export const ModelPricingType = builder.objectRef<ModelPricing>('ModelPricing').implement({
  description: 'Prices of a model.',
  interfaces: [TokenPrices],
  fields: (t) => ({
    generation: t.field({
      type: 'Usd',
      nullable: true,
      description: 'USD for one generated image.',
      resolve: ({ generation }) => toAmount(generation),
    }),
    extended: t.field({
      type: ExtendedModelPricing,
      nullable: true,
      description: 'Prices of long prompts; null if they cost the same.',
      resolve: ({ extended }) => extended ?? null,
    }),
  }),
})

function toAmount(price: { usd: number } | undefined): bigint | null {
  return price === undefined ? null : (parseUsd(price.usd) ?? null)
}
