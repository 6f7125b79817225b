import type { RefusalEvent } from '../../server/domain/rate-limits/refusal-feed.ts'
import { builder } from '../builder.ts'
import { requireCaller } from '../context.ts'
import { RateLimitRefusalType } from './rate-limit-refusal.ts'

const RateLimitExceededEvent = builder.objectRef<RefusalEvent>('RateLimitExceededEvent').implement({
  description: 'Requests of one key that were rejected for the same reason in quick succession.',
  fields: (t) => ({
    count: t.expose('count', { type: 'Count', description: 'The number of requests.' }),
    newest: t.field({
      type: RateLimitRefusalType,
      description: 'The newest of them.',
      resolve: (event) => event,
    }),
  }),
})

builder.subscriptionField('rateLimitExceeded', (t) =>
  t.field({
    type: RateLimitExceededEvent,
    description:
      "New rejected requests of the caller's account, within 250 ms. Equal ones in quick succession are combined into one event. `viewer.rateLimitLog` has the missed ones.",
    authScopes: { owner: true },
    subscribe: (_root, _args, context) =>
      context.services.limits.refusals.watch(requireCaller(context).accountId, context.lifetime.signal),
    resolve: (event) => event,
  }),
)
