import type { Refusal } from '../../server/domain/rate-limits/refusal.ts'
import { AccountType } from '../account/account.ts'
import { builder } from '../builder.ts'
import { pageArgs, pageComplexity, toConnection } from '../pages.ts'
import { RateLimitTypeEnum } from './rate-limit-type.ts'

export const RateLimitRefusalType = builder.objectRef<Refusal>('RateLimitRefusal').implement({
  description: 'A request that exceeded a limit and was rejected.',
  fields: (t) => ({
    refusalId: t.exposeID('id', { description: 'Id of the rejection.' }),
    apiKeyId: t.exposeID('apiKeyId', {
      nullable: true,
      description: 'Key of the request, as `ApiKey.apiKeyId`; null for a wallet.',
    }),
    subject: t.exposeString('subject', {
      description:
        'Model id, `endpoint:` and a path, or `model:unknown` if the request was rejected before its model was known.',
    }),
    tier: t.exposeString('rateLimitTier', {
      description: "XS to L for a text model, otherwise the account's tier.",
    }),
    type: t.expose('rateLimitType', { type: RateLimitTypeEnum, description: 'The limit that was exceeded.' }),
    refusedAt: t.expose('at', { type: 'DateTime', description: 'When the request was rejected.' }),
  }),
})

const RateLimitRefusalConnection = builder.connectionObject(
  { type: RateLimitRefusalType, name: 'RateLimitRefusalConnection', description: 'A page of rejected requests.' },
  { name: 'RateLimitRefusalEdge', description: 'A rejected request with its cursor.' },
)

builder.objectField(AccountType, 'rateLimitLog', (t) =>
  t.field({
    type: RateLimitRefusalConnection,
    description:
      'Requests that exceeded a limit, newest first. Requests served by other processes appear within a second. In a burst, at least the 50 newest are kept, for at most 30 days.',
    nullable: true,
    authScopes: { owner: true },
    args: pageArgs,
    complexity: pageComplexity,
    resolve: async ({ id }, page, { services }) =>
      toConnection(await services.limits.refusals.listPage(id, page), page.after),
  }),
)
