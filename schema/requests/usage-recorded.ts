import type { SettledRequests } from '../../server/domain/requests/request-record.ts'
import { described } from '../../server/domain/validation/described.ts'
import { builder } from '../builder.ts'
import { requireCaller } from '../context.ts'
import { PageRequest } from '../../server/domain/page.ts'
import { RequestType } from './request.ts'

/** What one event holds at most, for its price. */
const REQUESTS_COMPLEXITY = { field: 1, multiplier: 100 }

const UsageRecordedEvent = builder.objectRef<SettledRequests>('UsageRecordedEvent').implement({
  description: 'Requests of an account that have ended.',
  fields: (t) => ({
    accountId: t.exposeID('accountId', { description: 'The account, as `Account.accountId`.' }),
    requests: t.field({
      type: [RequestType],
      description: 'In the order of their settlement, at most 100; none in the first event.',
      complexity: REQUESTS_COMPLEXITY,
      resolve: ({ requests }) => [...requests],
    }),
    cursor: t.exposeString('cursor', {
      description: 'Opaque. `after` with the last one continues without a gap, after a reconnect too.',
    }),
    missed: t.exposeBoolean('missed', {
      description: 'Whether requests before these were left out, since more than 1,000 were missed; the log has them.',
    }),
  }),
})

builder.subscriptionField('usageRecorded', (t) =>
  t.field({
    type: UsageRecordedEvent,
    description:
      "The account's requests as they end: each once, in order, within 250 ms of its charge. The first event has none and says where the stream begins.",
    authScopes: { owner: true },
    args: {
      after: t.arg.string({
        description:
          'A `cursor` of this subscription: what ended since then comes first. Absent: only what ends from now on.',
        validate: described(PageRequest.shape.after),
      }),
    },
    subscribe: (_root, { after }, context) =>
      context.services.usage.requests.settled(requireCaller(context).accountId, after, context.lifetime.signal),
    resolve: (settled) => settled,
  }),
)
