import { z } from 'zod'
import { parseUsdPerMillion } from '../money.ts'
import { nameText, plainText, proseText } from '../validation/text.ts'

export const MODEL_TYPES = ['text', 'image', 'embedding', 'tts', 'asr', 'music', 'video', 'upscale', 'inpaint'] as const
export type ModelType = (typeof MODEL_TYPES)[number]

export const MODEL_TIERS = ['XS', 'S', 'M', 'L'] as const
export type ModelTier = (typeof MODEL_TIERS)[number]

const PROMPT_OVERHEAD_TOKENS_MAX = 1_000_000
const IMAGE_TOKENS_MAX = 1_000_000
/**
 * One dollar per token. With this bound the largest request (128 completions of the most tokens, after a prompt that
 * fills the largest context) stays below a sixth of the database's 64-bit nano-USD range.
 */
const PRICE_USD_MAX = 1_000_000
const CONTEXT_TOKENS_MAX = 100_000_000
const COMPLETION_TOKENS_MAX = 10_000_000

const PriceUsd = z
  .number()
  .min(0)
  .max(PRICE_USD_MAX, { error: `a price must be at most ${PRICE_USD_MAX} USD` })

/** A price in USD with at most 6 decimals, so that a millionth of it is a whole number of pico-USD. */
const Price = z
  .strictObject({ usd: PriceUsd, diem: PriceUsd.optional() })
  .refine((price) => parseUsdPerMillion(price.usd) !== undefined, { error: 'a price must have at most 6 decimals' })
  // A hold is made before the currency is known, and 1 DIEM is 1 USD, so the two prices must be equal.
  .refine((price) => price.diem === undefined || price.diem === price.usd, {
    error: '1 DIEM is 1 USD: omit diem, or set it to the same number as usd',
  })

const TokenPrices = {
  input: Price.optional(),
  output: Price.optional(),
  cache_input: Price.optional(),
  cache_write: Price.optional(),
}

export const IMAGE_QUALITIES = ['low', 'medium', 'high'] as const
export type ImageQuality = (typeof IMAGE_QUALITIES)[number]

/** Prices as `GET /models` publishes them: per million tokens, or per unit for everything else. */
export const ModelPricing = z.looseObject({
  ...TokenPrices,
  extended: z.strictObject({ context_token_threshold: z.int().positive(), ...TokenPrices }).optional(),
  generation: Price.optional(),
  /** By resolution; replaces `generation`. */
  resolutions: z.record(nameText(100), Price).optional(),
  /** By resolution and quality; replaces both. */
  quality: z.record(nameText(100), z.partialRecord(z.enum(IMAGE_QUALITIES), Price)).optional(),
})
export type ModelPricing = z.output<typeof ModelPricing>

export const ModelCapabilities = z.looseObject({
  supportsFunctionCalling: z.boolean().default(false),
  supportsReasoning: z.boolean().default(false),
  supportsReasoningEffort: z.boolean().default(false),
  supportsResponseSchema: z.boolean().default(false),
  supportsVision: z.boolean().default(false),
  supportsMultipleImages: z.boolean().default(false),
  supportsAudioInput: z.boolean().default(false),
  supportsVideoInput: z.boolean().default(false),
  supportsWebSearch: z.boolean().default(false),
  supportsXSearch: z.boolean().default(false),
  supportsLogProbs: z.boolean().default(false),
  supportsTeeAttestation: z.boolean().default(false),
  supportsE2EE: z.boolean().default(false),
  optimizedForCode: z.boolean().default(false),
  quantization: z.enum(['fp4', 'fp8', 'fp16', 'bf16', 'int8', 'int4', 'not-available']).default('not-available'),
})
export type ModelCapabilities = z.output<typeof ModelCapabilities>

/** One catalogue entry: the id for sale, its providers and its prices. */
export const ModelDefinition = z.strictObject({
  id: nameText(200),
  type: z.enum(MODEL_TYPES),
  providers: z.array(z.strictObject({ id: nameText(100), model: nameText(500) })).min(1),
  name: nameText(200).optional(),
  description: proseText(10_000).optional(),
  modelSource: plainText(2_000).optional(),
  tier: z.enum(MODEL_TIERS).default('M'),
  privacy: z.enum(['private', 'anonymized']).default('private'),
  traits: z.array(nameText(200)).default([]),
  contextTokens: z.int().positive().max(CONTEXT_TOKENS_MAX).default(32_768),
  maxCompletionTokens: z.int().positive().max(COMPLETION_TOKENS_MAX).default(4_096),
  promptOverheadTokens: z
    .int()
    .min(0)
    .max(PROMPT_OVERHEAD_TOKENS_MAX)
    .optional()
    .describe("Tokens that the provider's chat template adds to each request; default 0"),
  imageTokens: z
    .int()
    .min(0)
    .max(IMAGE_TOKENS_MAX)
    .optional()
    .describe('Maximum tokens that the provider counts for an image in a prompt; default 1600'),
  capabilities: ModelCapabilities.prefault({}),
  constraints: z.record(z.string(), z.unknown()).default({}),
  pricing: ModelPricing.default({}),
  offline: z.boolean().default(false),
  betaModel: z.boolean().optional(),
  createdAt: z.iso.datetime().optional(),
  deprecation: z
    .strictObject({
      date: z.iso.datetime(),
      startsAt: z.iso.datetime().optional(),
      removesAt: z.iso.datetime().optional(),
      replacementModelId: z.string().optional(),
      autoRemap: z.boolean().default(false),
      message: plainText(1_000).optional(),
    })
    .optional(),
})
export type ModelDefinition = z.output<typeof ModelDefinition>
