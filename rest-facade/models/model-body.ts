import type { ModelCapabilities, ModelDefinition } from '../../server/domain/catalogue/model-definition.ts'
import { removalDate } from '../../server/domain/catalogue/model-deprecation.ts'

interface ModelBodyOptions {
  serviceName: string
  /** `created` of a model whose age nobody stated. */
  loadedAt: Date
}

/** One entry of `GET /models`, in the public API's shape. */
export function toModelBody(model: ModelDefinition, { serviceName, loadedAt }: ModelBodyOptions): object {
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

/** What only models of the type have; the other types keep everything special in their constraints. */
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
  // The two effort fields mean nothing on a model that takes no effort.
  return capabilities.supportsReasoningEffort
    ? {
        ...rest,
        ...present('reasoningEffortOptions', reasoningEffortOptions),
        ...present('defaultReasoningEffort', defaultReasoningEffort),
      }
    : rest
}

function deprecationBody(deprecation: NonNullable<ModelDefinition['deprecation']>): object {
  return {
    autoRemap: deprecation.autoRemap,
    date: deprecation.date,
    removesAt: removalDate(deprecation),
    ...present('startsAt', deprecation.startsAt),
    ...present('replacementModelId', deprecation.replacementModelId),
  }
}

/** 1 DIEM is 1 USD, so a price in USD is its price in DIEM. */
function withDiemPrices(pricing: object): object {
  const entries = Object.entries(pricing).map(([name, price]: [string, unknown]) => {
    if (typeof price !== 'object' || price === null || Array.isArray(price)) return [name, price]
    return [name, 'usd' in price ? { diem: price.usd, ...price } : withDiemPrices(price)]
  })
  return Object.fromEntries(entries) as object
}

function present(name: string, value: unknown): object {
  return value === undefined ? {} : { [name]: value }
}
