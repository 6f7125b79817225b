import { z } from 'zod'
import { MODEL_TYPES, ModelCapabilities, type ModelDefinition } from '../../server/domain/catalogue/model-definition.ts'
import { removalDate } from '../../server/domain/catalogue/model-deprecation.ts'

const Price = z.object({ usd: z.number(), diem: z.number() })
const TokenPrices = {
  input: Price.optional(),
  output: Price.optional(),
  cache_input: Price.optional(),
  cache_write: Price.optional(),
}

/** Prices of tokens are per million, all others per unit; an operator may publish further ones. */
const ModelPrices = z.looseObject({
  ...TokenPrices,
  extended: z.object({ context_token_threshold: z.number(), ...TokenPrices }).optional(),
  generation: Price.optional(),
  resolutions: z.record(z.string(), Price).optional(),
  quality: z.record(z.string(), z.record(z.string(), Price)).optional(),
})

/** One entry of `GET /models`, in the public API's shape. */
export const ModelBody = z.object({
  id: z.string(),
  object: z.literal('model'),
  created: z.number(),
  owned_by: z.string(),
  type: z.enum(MODEL_TYPES),
  context_length: z.number().optional(),
  /** Speech and music models have their constraints next to the fields listed here. */
  model_spec: z.looseObject({
    name: z.string(),
    description: z.string().optional(),
    modelSource: z.string().optional(),
    offline: z.boolean(),
    betaModel: z.boolean().optional(),
    privacy: z.enum(['private', 'anonymized']),
    traits: z.array(z.string()),
    availableContextTokens: z.number().optional(),
    maxCompletionTokens: z.number().optional(),
    capabilities: ModelCapabilities.optional(),
    constraints: z.record(z.string(), z.unknown()).optional(),
    pricing: ModelPrices.optional(),
    deprecation: z
      .object({
        autoRemap: z.boolean(),
        date: z.string(),
        removesAt: z.string(),
        startsAt: z.string().optional(),
        replacementModelId: z.string().optional(),
      })
      .optional(),
  }),
})

interface ModelBodyOptions {
  serviceName: string
  /** `created` of a model without a stated age. */
  loadedAt: Date
}

export function toModelBody(
  model: ModelDefinition,
  { serviceName, loadedAt }: ModelBodyOptions,
): z.output<typeof ModelBody> {
  const createdMs = model.createdAt === undefined ? loadedAt.getTime() : Date.parse(model.createdAt)
  return {
    id: model.id,
    object: 'model',
    created: Math.floor(createdMs / 1_000),
    owned_by: serviceName,
    type: model.type,
    ...(model.type === 'text' ? { context_length: model.contextTokens } : {}),
    model_spec: {
      name: model.name ?? model.id,
      ...present('description', model.description),
      ...present('modelSource', model.modelSource),
      offline: model.offline,
      ...present('betaModel', model.betaModel),
      privacy: model.privacy,
      traits: model.traits,
      ...typeBody(model),
      // Absent on video: the public API prices it by quote only.
      ...(model.type === 'video' ? {} : { pricing: withDiemPrices(model.pricing) }),
      ...(model.deprecation === undefined ? {} : { deprecation: deprecationBody(model.deprecation) }),
    },
  }
}

/** Fields of models of this type; other types put theirs into the constraints. */
function typeBody(model: ModelDefinition): object {
  switch (model.type) {
    case 'text':
      return {
        availableContextTokens: model.contextTokens,
        maxCompletionTokens: model.maxCompletionTokens,
        capabilities: capabilitiesBody(model.capabilities),
        constraints: { temperature: { default: 1 }, top_p: { default: 1 }, ...model.constraints },
      }
    case 'image':
    case 'inpaint':
    case 'video':
      return { constraints: model.constraints }
    default:
      return model.constraints
  }
}

function capabilitiesBody(capabilities: ModelCapabilities): object {
  const { reasoningEffortOptions, defaultReasoningEffort, ...rest } = capabilities
  // The two effort fields mean nothing on a model without reasoning effort.
  return capabilities.supportsReasoningEffort
    ? {
        ...rest,
        ...present('reasoningEffortOptions', reasoningEffortOptions),
        ...present('defaultReasoningEffort', defaultReasoningEffort),
      }
    : rest
}

function deprecationBody(deprecation: NonNullable<ModelDefinition['deprecation']>) {
  return {
    autoRemap: deprecation.autoRemap,
    date: deprecation.date,
    removesAt: removalDate(deprecation),
    ...present('startsAt', deprecation.startsAt),
    ...present('replacementModelId', deprecation.replacementModelId),
  }
}

/** 1 DIEM is 1 USD, so a price in USD is also its price in DIEM. */
function withDiemPrices(pricing: object): z.output<typeof ModelPrices> {
  const entries = Object.entries(pricing).map(([name, price]: [string, unknown]): [string, unknown] => {
    if (typeof price !== 'object' || price === null || Array.isArray(price)) return [name, price]
    return [name, 'usd' in price ? { diem: price.usd, ...price } : withDiemPrices(price)]
  })
  return Object.fromEntries(entries)
}

function present(name: string, value: unknown): object {
  return value === undefined ? {} : { [name]: value }
}
