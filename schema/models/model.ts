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

const ModelTypeEnum = builder.enumType('ModelType', { description: 'What a model makes.', values: TYPES })

const ModelTierEnum = builder.enumType('ModelTier', {
  description: 'Size class of a text model, which decides its rate limits.',
  values: {
    XS: { description: 'Smallest; the most requests a minute.' },
    S: { description: 'Small.' },
    M: { description: 'Medium.' },
    L: { description: 'Largest; the fewest requests a minute.' },
  } satisfies Record<ModelTier, { description: string }>,
})

const ModelPrivacyLevel = builder.enumType('ModelPrivacyLevel', {
  description: 'Whether a provider may keep what is sent to a model.',
  values: {
    PRIVATE: { value: 'private' as const, description: 'Nothing is kept.' },
    ANONYMIZED: {
      value: 'anonymized' as const,
      description: 'The provider does not learn who asked, but may keep what was asked.',
    },
  },
})

const ModelDeprecation = builder.objectRef<NonNullable<ModelDefinition['deprecation']>>('ModelDeprecation').implement({
  description: 'When a model goes away, and what replaces it.',
  fields: (t) => ({
    date: t.field({ type: 'DateTime', description: 'When it is deprecated.', resolve: ({ date }) => new Date(date) }),
    removesAt: t.field({
      type: 'DateTime',
      description: 'When it is no longer served.',
      resolve: (deprecation) => new Date(removalDate(deprecation)),
    }),
    replacementModelId: t.exposeString('replacementModelId', {
      nullable: true,
      description: 'The model to use instead.',
    }),
    message: t.exposeString('message', { nullable: true, description: 'What the operator says about it.' }),
  }),
})

const ModelObject = builder.objectRef<ModelDefinition>('Model').implement({
  description: 'A model that can be called by its id.',
  fields: (t) => ({
    modelId: t.exposeID('id', { description: 'The id to call it by.' }),
    type: t.expose('type', { type: ModelTypeEnum, description: 'What it makes.' }),
    name: t.string({ description: 'Name for people.', resolve: ({ name, id }) => name ?? id }),
    description: t.exposeString('description', { nullable: true, description: 'What it is good at.' }),
    tier: t.expose('tier', { type: ModelTierEnum, description: 'Which rate limits apply to it.' }),
    privacy: t.expose('privacy', {
      type: ModelPrivacyLevel,
      description: 'Whether its provider may keep what is sent.',
    }),
    traits: t.exposeStringList('traits', {
      description: 'Roles that stand for it, such as `default`; each can be used as a model name.',
    }),
    contextTokens: t.exposeInt('contextTokens', { description: 'Longest prompt and answer together.' }),
    maxCompletionTokens: t.exposeInt('maxCompletionTokens', { description: 'Longest answer.' }),
    offline: t.exposeBoolean('offline', { description: 'Whether it is out of service at present.' }),
    capabilities: t.field({
      type: ModelCapabilitiesType,
      description: 'What it can do.',
      resolve: ({ capabilities }) => capabilities,
    }),
    pricing: t.field({ type: ModelPricingType, description: 'What it costs.', resolve: ({ pricing }) => pricing }),
    deprecation: t.field({
      type: ModelDeprecation,
      nullable: true,
      description: 'When it goes away; null when nothing is planned.',
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
    description: 'The models that are served. Needs no credential; a key sees only those that it may use.',
    args: { ...pageArgs, type: t.arg({ type: ModelTypeEnum, description: 'Only models of that type.' }) },
    complexity: pageComplexity,
    resolve: (_root, { type, ...page }, context) => toConnection(listModels({ type, ...page }, context), page.after),
  }),
)
