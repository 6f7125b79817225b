import type { ModelDefinition, ModelTier, ModelType } from '../../server/domain/catalogue/model-definition.ts'
import { removalDate } from '../../server/domain/catalogue/model-deprecation.ts'
import { builder } from '../builder.ts'
import { pageArgs, pageComplexity, toConnection } from '../pages.ts'
import { listModels } from './list-models.ts'
import { ModelCapabilitiesType } from './model-capabilities.ts'
import { ModelPricingType } from './model-pricing.ts'

/** One line per type, so that a new type does not compile until it is described. */
const TYPES: Record<Uppercase<ModelType>, { value: ModelType; description: string }> = {
  TEXT: { value: 'text', description: 'Chat completions.' },
  IMAGE: { value: 'image', description: 'Images from a prompt.' },
  EMBEDDING: { value: 'embedding', description: 'Vectors from texts.' },
  TTS: { value: 'tts', description: 'Speech from text.' },
  ASR: { value: 'asr', description: 'Text from speech.' },
  MUSIC: { value: 'music', description: 'Music from a prompt.' },
  VIDEO: { value: 'video', description: 'Videos from a prompt.' },
  UPSCALE: { value: 'upscale', description: 'Larger images.' },
  INPAINT: { value: 'inpaint', description: 'Changed images.' },
}

const ModelTypeEnum = builder.enumType('ModelType', { description: 'What a model produces.', values: TYPES })

const ModelTierEnum = builder.enumType('ModelTier', {
  description: 'Size class of a text model, which decides its rate limits.',
  values: {
    XS: { description: 'Smallest; the most requests per minute.' },
    S: { description: 'Small.' },
    M: { description: 'Medium.' },
    L: { description: 'Largest; the fewest requests per minute.' },
  } satisfies Record<ModelTier, { description: string }>,
})

const ModelPrivacyLevel = builder.enumType('ModelPrivacyLevel', {
  description: 'Whether a provider may store the requests to a model.',
  values: {
    PRIVATE: { value: 'private' as const, description: 'Nothing is stored.' },
    ANONYMIZED: {
      value: 'anonymized' as const,
      description: 'The provider does not learn who sent a request, but may store the request.',
    },
  },
})

const ModelDeprecation = builder.objectRef<NonNullable<ModelDefinition['deprecation']>>('ModelDeprecation').implement({
  description: 'When a model is deprecated and removed, and its replacement.',
  fields: (t) => ({
    date: t.field({ type: 'DateTime', description: 'When it is deprecated.', resolve: ({ date }) => new Date(date) }),
    removesAt: t.field({
      type: 'DateTime',
      description: 'When the model is removed.',
      resolve: (deprecation) => new Date(removalDate(deprecation)),
    }),
    replacementModelId: t.exposeString('replacementModelId', {
      nullable: true,
      description: 'The model to use instead.',
    }),
    message: t.exposeString('message', { nullable: true, description: 'Message from the operator.' }),
  }),
})

const ModelObject = builder.objectRef<ModelDefinition>('Model').implement({
  description: 'A model that can be called by its id.',
  fields: (t) => ({
    modelId: t.exposeID('id', { description: 'The id to use in requests.' }),
    type: t.expose('type', { type: ModelTypeEnum, description: 'What the model produces.' }),
    name: t.string({ description: 'Display name.', resolve: ({ name, id }) => name ?? id }),
    description: t.exposeString('description', { nullable: true, description: 'Short description of the model.' }),
    tier: t.expose('tier', { type: ModelTierEnum, description: 'The tier that decides its rate limits.' }),
    privacy: t.expose('privacy', {
      type: ModelPrivacyLevel,
      description: 'Whether its provider may store the requests.',
    }),
    traits: t.exposeStringList('traits', {
      description: 'Traits of the model, such as `default`. Each can be used as a model name.',
    }),
    contextTokens: t.exposeInt('contextTokens', { description: 'Maximum tokens of prompt and completion together.' }),
    maxCompletionTokens: t.exposeInt('maxCompletionTokens', { description: 'Maximum tokens of a completion.' }),
    offline: t.exposeBoolean('offline', { description: 'Whether the model is currently offline.' }),
    capabilities: t.field({
      type: ModelCapabilitiesType,
      description: 'Capabilities of the model.',
      resolve: ({ capabilities }) => capabilities,
    }),
    pricing: t.field({ type: ModelPricingType, description: 'Its price.', resolve: ({ pricing }) => pricing }),
    deprecation: t.field({
      type: ModelDeprecation,
      nullable: true,
      description: 'When the model is deprecated and removed; null if nothing is planned.',
      resolve: ({ deprecation }) => deprecation ?? null,
    }),
  }),
})

const ModelConnection = builder.connectionObject(
  { type: ModelObject, name: 'ModelConnection', description: 'A page of models.' },
  { name: 'ModelEdge', description: 'A model with its cursor.' },
)

builder.queryField('models', (t) =>
  t.field({
    type: ModelConnection,
    description: 'The available models. No credential is required; with a key, only the models that it may use.',
    args: { ...pageArgs, type: t.arg({ type: ModelTypeEnum, description: 'Only models of this type.' }) },
    complexity: pageComplexity,
    resolve: (_root, { type, ...page }, context) => toConnection(listModels({ type, ...page }, context), page.after),
  }),
)
