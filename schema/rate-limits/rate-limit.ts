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
  USER: { value: 'user', description: 'Requests of all keys of the account.' },
  API_KEY: { value: 'api_key', description: 'Only requests of this key, for a limit that the operator set on it.' },
  GLOBAL: { value: 'global', description: 'All management requests of the account, REST and GraphQL together.' },
}

const RateLimitScopeEnum = builder.enumType('RateLimitScope', {
  description: 'Which requests a limit counts together.',
  values: SCOPES,
})

const RateLimitWindowType = builder.objectRef<LiveWindow>('RateLimitWindow').implement({
  description: 'One sliding window: no period of its length ever contains more than its limit.',
  fields: (t) => ({
    type: t.expose('type', { type: RateLimitTypeEnum, description: 'The kind of limit.' }),
    scope: t.expose('scope', { type: RateLimitScopeEnum, description: 'Which requests are counted together.' }),
    limit: t.expose('limit', { type: 'Count', description: "Maximum in any period of the window's length." }),
    used: t.field({
      type: 'Count',
      description: 'The current use, including estimates of running requests.',
      resolve: ({ limit, remaining }) => limit - remaining,
    }),
    remaining: t.expose('remaining', { type: 'Count', description: 'The current remainder.' }),
    resetAt: t.expose('resetAt', {
      type: 'DateTime',
      description: 'When the window will be empty if no other request arrives; the current time if it is empty.',
    }),
  }),
})

const RateLimitObject = builder.objectRef<LiveLimits>('RateLimit').implement({
  description: 'The limits of one model or endpoint, and their current use. A request must pass every window.',
  fields: (t) => ({
    subject: t.exposeString('subject', { description: 'Model id, or `endpoint:` and a path.' }),
    tier: t.exposeString('tier', { description: "XS to L for a text model, otherwise the account's tier." }),
    windows: t.field({
      type: [RateLimitWindowType],
      description: 'The windows of a request. It consumes from all of them or from none.',
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
    description: 'The limits of this credential: first those of each model that it may use, then those of endpoints.',
    args: pageArgs,
    complexity: pageComplexity,
    resolve: async (_account, page, context) =>
      toConnection(await context.services.limits.currentLimits.live(requireCaller(context), page), page.after),
  }),
)
