import type { LiveLimits, LiveWindow } from '../../server/domain/current-limits/current-limits-service.ts'
import type { RateLimitScope } from '../../server/domain/rate-limits/rate-plan.ts'
import { AccountType } from '../account/account.ts'
import { builder } from '../builder.ts'
import { requireCaller } from '../context.ts'
import { pageArgs, pageComplexity, toConnection } from '../pages.ts'
import { RateLimitTypeEnum } from './rate-limit-type.ts'

/** Requests and tokens or credits, of the account and of the key. */
const WINDOWS_MAX = 4

const SCOPES: Record<Uppercase<RateLimitScope>, { value: RateLimitScope; description: string }> = {
  USER: { value: 'user', description: 'All keys of the account together.' },
  API_KEY: { value: 'api_key', description: 'The key of this request alone, by a limit that the operator set on it.' },
  GLOBAL: { value: 'global', description: 'All management requests of the account together, REST and GraphQL.' },
}

const RateLimitScopeEnum = builder.enumType('RateLimitScope', {
  description: 'Whose requests a limit counts together.',
  values: SCOPES,
})

const RateLimitWindowType = builder.objectRef<LiveWindow>('RateLimitWindow').implement({
  description: 'One sliding window: never more than its limit in any span of its length.',
  fields: (t) => ({
    type: t.expose('type', { type: RateLimitTypeEnum, description: 'What is counted.' }),
    scope: t.expose('scope', { type: RateLimitScopeEnum, description: 'Whose requests are counted together.' }),
    limit: t.expose('limit', { type: 'Count', description: 'Most in any span of the window.' }),
    used: t.field({
      type: 'Count',
      description: 'What counts at this moment; estimates of running requests are in it.',
      resolve: ({ limit, remaining }) => limit - remaining,
    }),
    remaining: t.expose('remaining', { type: 'Count', description: 'What is left at this moment.' }),
    resetAt: t.expose('resetAt', {
      type: 'DateTime',
      description: 'When the window is empty if nothing else comes; now for one that is empty.',
    }),
  }),
})

const RateLimitObject = builder.objectRef<LiveLimits>('RateLimit').implement({
  description: 'The limits of one model or endpoint, and how much of them is used. A request must pass every window.',
  fields: (t) => ({
    subject: t.exposeString('subject', { description: 'Model id, or `endpoint:` and a path.' }),
    tier: t.exposeString('tier', { description: "XS to L for a text model, otherwise the account's tier." }),
    windows: t.field({
      type: [RateLimitWindowType],
      description: 'The windows that a request consumes from, all or none.',
      complexity: { field: 1, multiplier: WINDOWS_MAX },
      resolve: ({ windows }) => windows,
    }),
  }),
})

const RateLimitConnection = builder.connectionObject(
  { type: RateLimitObject, name: 'RateLimitConnection', description: 'A page of limits.' },
  { name: 'RateLimitEdge', description: 'The limits of one model or endpoint with their cursor.' },
)

builder.objectField(AccountType, 'rateLimits', (t) =>
  t.field({
    type: RateLimitConnection,
    description: 'The limits of this credential: those of each model that it may use, then those of endpoints.',
    args: pageArgs,
    complexity: pageComplexity,
    resolve: async (_account, page, context) =>
      toConnection(await context.services.limits.currentLimits.live(requireCaller(context), page), page.after),
  }),
)
