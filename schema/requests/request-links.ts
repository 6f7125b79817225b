import type { RequestKey } from '../../server/domain/idempotency/idempotency-record.ts'
import { builder } from '../builder.ts'
import { type GraphQLContext, requireCaller } from '../context.ts'
import { LedgerTransferType } from '../ledger/ledger-transfer.ts'
import { findRequests, RequestType } from './request.ts'

const RequestIdempotency = builder.objectRef<RequestKey>('RequestIdempotency').implement({
  description: 'The `Idempotency-Key` that a request was made under.',
  fields: (t) => ({
    key: t.exposeString('key', { description: 'As the client sent it.' }),
    replays: t.exposeInt('replays', { description: 'Repeats so far that got the kept answer and cost nothing.' }),
    keptUntil: t.expose('keptUntil', { type: 'DateTime', description: 'Until when a repeat gets that answer.' }),
  }),
})

builder.objectFields(RequestType, (t) => ({
  ledgerTransfer: t.loadable({
    type: LedgerTransferType,
    nullable: true,
    description: 'The posting that charged it; null when it cost nothing.',
    load: async (requestIds: string[], context: GraphQLContext) => {
      const charges = await context.services.money.ledger.chargesOf(requireCaller(context).accountId, requestIds)
      return requestIds.map((requestId) => charges.get(requestId) ?? null)
    },
    resolve: ({ requestId }) => requestId,
  }),
  idempotency: t.loadable({
    type: RequestIdempotency,
    nullable: true,
    description: 'Its `Idempotency-Key`, known for 24 hours; null where it had none.',
    load: async (requestIds: string[], context: GraphQLContext) => {
      const keys = await context.services.usage.requests.keysOf(requireCaller(context).accountId, requestIds)
      return requestIds.map((requestId) => keys.get(requestId) ?? null)
    },
    resolve: ({ requestId }) => requestId,
  }),
}))

builder.objectField(LedgerTransferType, 'request', (t) =>
  t.loadable({
    type: RequestType,
    nullable: true,
    description: 'The request that was charged; null for other postings and once its usage has expired.',
    load: (requestIds: string[], context: GraphQLContext) => findRequests(requestIds, context),
    resolve: ({ requestId }) => requestId,
  }),
)
