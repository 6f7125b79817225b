import type { ApiKey, ConsumptionLimits, LimitPeriod } from '../../server/domain/api-keys/api-key.ts'
import {
  type ApiKeyUsage,
  NO_USAGE,
  periodEndOf,
  remainingOf,
  type SpendNano,
} from '../../server/domain/api-keys/key-spend.ts'
import type { ApiKeyType, ModelPrivacy } from '../../server/domain/caller.ts'
import { AccountType } from '../account/account.ts'
import { builder } from '../builder.ts'
import { type GraphQLContext, requireCaller } from '../context.ts'
import { pageArgs, pageComplexity, toConnection } from '../pages.ts'

export const ApiKeyTypeEnum = builder.enumType('ApiKeyType', {
  description: 'What a key may do.',
  values: {
    INFERENCE: { description: 'Call models and networks, and read its own balance and limits.' },
    ADMIN: { description: 'Everything an INFERENCE key may do, and manage the account.' },
  } satisfies Record<ApiKeyType, { description: string }>,
})

export const LimitPeriodEnum = builder.enumType('LimitPeriod', {
  description: 'When the spending of a key is reset to zero.',
  values: {
    EPOCH: { description: 'Every UTC day.' },
    MONTH: { description: 'On the first of every UTC month.' },
    LIFETIME: { description: 'Never.' },
  } satisfies Record<LimitPeriod, { description: string }>,
})

export const ModelPrivacyEnum = builder.enumType('ModelPrivacy', {
  description: 'Which models a key may call.',
  values: {
    ALL: { description: 'All of them.' },
    PRIVATE_TEXT: { description: 'All models, except text and embedding models that are not private.' },
    PRIVATE_ONLY: { description: 'Only private ones.' },
  } satisfies Record<ModelPrivacy, { description: string }>,
})

const ApiKeyLimits = builder.objectRef<ConsumptionLimits>('ApiKeyLimits').implement({
  description: 'The amounts that a key may spend in one limit period. Null means no limit; zero blocks the currency.',
  fields: (t) => ({
    usd: t.expose('usdNano', { type: 'Usd', nullable: true, description: 'Maximum USD per period.' }),
    usdNanoUsd: t.expose('usdNano', { type: 'NanoUsd', nullable: true, description: '`usd` in nano-USD.' }),
    diem: t.expose('diemNano', { type: 'Usd', nullable: true, description: 'Maximum DIEM per period.' }),
    diemNanoUsd: t.expose('diemNano', { type: 'NanoUsd', nullable: true, description: '`diem` in nano-USD.' }),
  }),
})

const Spend = builder.objectRef<SpendNano>('Spend').implement({
  description: 'Amounts spent in both currencies.',
  fields: (t) => ({
    usd: t.expose('usdNano', { type: 'Usd', description: 'Spent in USD.' }),
    usdNanoUsd: t.expose('usdNano', { type: 'NanoUsd', description: '`usd` in nano-USD.' }),
    diem: t.expose('diemNano', { type: 'Usd', description: 'Spent in DIEM.' }),
    diemNanoUsd: t.expose('diemNano', { type: 'NanoUsd', description: '`diem` in nano-USD.' }),
  }),
})

interface ApiKeyUsageOfLimits extends ApiKeyUsage {
  remaining: ConsumptionLimits
}

const ApiKeyUsageType = builder.objectRef<ApiKeyUsageOfLimits>('ApiKeyUsage').implement({
  description: 'The amounts that a key has spent.',
  fields: (t) => ({
    currentPeriod: t.field({
      type: Spend,
      description: "Charged in the current limit period. The key's limits apply to this amount.",
      resolve: ({ currentPeriod }) => currentPeriod,
    }),
    trailingSevenDays: t.field({
      type: Spend,
      description: 'Charged today and on the previous six UTC days.',
      resolve: ({ trailingSevenDays }) => trailingSevenDays,
    }),
    held: t.field({
      type: Spend,
      description: 'Held by running requests.',
      resolve: ({ held }) => held,
    }),
    remaining: t.field({
      type: ApiKeyLimits,
      description: 'The amounts that a new request may still spend in the current limit period; null means no limit.',
      resolve: ({ remaining }) => remaining,
    }),
  }),
})

export const ApiKeyObject = builder.objectRef<ApiKey>('ApiKey')

builder.node(ApiKeyObject, {
  name: 'ApiKey',
  description: 'An API key of the account. Its secret is shown only once, when the key is created.',
  id: { resolve: ({ id }) => id, description: 'Opaque, globally unique id.' },
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'last6Chars' in value,
  loadOne: findApiKey,
  fields: (t) => ({
    apiKeyId: t.exposeID('id', { description: "The key's id in the REST API." }),
    type: t.expose('type', { type: ApiKeyTypeEnum, description: 'What the key may do.' }),
    description: t.exposeString('description', { description: 'What the key is for; up to 64 characters.' }),
    limits: t.field({
      type: ApiKeyLimits,
      description: 'The amounts that the key may spend in one limit period.',
      resolve: ({ limits }) => limits,
    }),
    limitPeriod: t.expose('limitPeriod', {
      type: LimitPeriodEnum,
      description: "When the key's spending is reset to zero.",
    }),
    limitPeriodEndsAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: "When the key's spending is next reset to zero; null means never.",
      resolve: ({ limitPeriod }, _args, { services }) => periodEndOf(limitPeriod, services.clock.now()),
    }),
    modelPrivacy: t.expose('modelPrivacy', { type: ModelPrivacyEnum, description: 'Which models the key may call.' }),
    last6Chars: t.exposeString('last6Chars', {
      description: 'The last six characters of the secret, to distinguish keys.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the key was created.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the key expires; null means never.',
    }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the key last authenticated a request; null means never.',
    }),
    usage: t.loadable({
      type: ApiKeyUsageType,
      description: 'The amounts that the key has spent.',
      load: loadUsage,
      resolve: (key) => key,
    }),
  }),
})

const ApiKeyConnection = builder.connectionObject(
  { type: ApiKeyObject, name: 'ApiKeyConnection', description: 'A page of API keys.' },
  { name: 'ApiKeyEdge', description: 'An API key with its cursor.' },
)

builder.objectFields(AccountType, (t) => ({
  apiKeys: t.field({
    type: ApiKeyConnection,
    description: 'The active keys (neither revoked nor expired), newest first.',
    nullable: true,
    authScopes: { owner: true },
    args: pageArgs,
    complexity: pageComplexity,
    resolve: async ({ id }, page, { services }) =>
      toConnection(await services.access.apiKeys.listPage(id, page), page.after),
  }),
  currentApiKey: t.field({
    type: ApiKeyObject,
    nullable: true,
    description: 'The API key of this request, with its limits and spending.',
    resolve: async ({ id }, _args, context) => {
      const { keyId } = requireCaller(context)
      return keyId === null ? null : ((await context.services.access.apiKeys.find(id, keyId)) ?? null)
    },
  }),
}))

/** Returns null if the account has no active key with this id. */
async function findApiKey(id: string, context: GraphQLContext): Promise<ApiKey | null> {
  return (await context.services.access.apiKeys.find(requireCaller(context).accountId, id)) ?? null
}

/** One statement for all keys of a page. */
async function loadUsage(keys: ApiKey[], context: GraphQLContext): Promise<ApiKeyUsageOfLimits[]> {
  const found = await context.services.access.apiKeys.usageOf(requireCaller(context).accountId, keys)
  return keys.map((key) => {
    const usage = found.get(key.id) ?? NO_USAGE
    return { ...usage, remaining: remainingOf(key.limits, usage) }
  })
}
