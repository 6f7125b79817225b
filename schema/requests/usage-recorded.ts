import { PageRequest } from '../../server/domain/page.ts'
import type { SettledRequests } from '../../server/domain/requests/request-record.ts'
import { described } from '../../server/domain/validation/described.ts'
import { builder } from '../builder.ts'
import { requireCaller } from '../context.ts'
import { RequestType } from './request.ts'

/** The maximum content of one event, for its complexity. */
const REQUESTS_COMPLEXITY = { field: 1, multiplier: 100 }

const UsageRecordedEvent = builder.objectRef<SettledRequests>('UsageRecordedEvent').implement({
  description: 'Finished requests of an account.',
  fields: (t) => ({
    accountId: t.exposeID('accountId', { description: 'The account, as `Account.accountId`.' }),
    requests: t.field({
      type: [RequestType],
      description: 'The requests in the order of their settlement, at most 100; none in the first event.',
      complexity: REQUESTS_COMPLEXITY,
      resolve: ({ requests }) => [...requests],
    }),
    cursor: t.exposeString('cursor', {
      description: 'Opaque cursor. Pass the last one as `after` to continue without a gap, also after a reconnect.',
    }),
    missed: t.exposeBoolean('missed', {
      description:
        'Whether earlier requests were left out because more than 1,000 were missed; the request log has them.',
    }),
  }),
})

builder.subscriptionField('usageRecorded', (t) =>
  t.field({
    type: UsageRecordedEvent,
    description:
      "The account's requests as they end: each only once, in order, within 250 ms of its charge. The first event has no requests; its cursor marks the beginning of the stream.",
    authScopes: { owner: true },
    args: {
      after: t.arg.string({
        description:
          'A `cursor` of this subscription. Requests that ended since then are sent first. If absent, only new requests are sent.',
        validate: described(PageRequest.shape.after),
      }),
    },
    subscribe: (_root, { after }, context) =>
      context.services.usage.requests.settled(requireCaller(context).accountId, after, context.lifetime.signal),
    resolve: (settled) => settled,
  }),
)
