import type { RequestKey } from '../../server/domain/idempotency/idempotency-record.ts'
import { builder } from '../builder.ts'
import { type GraphQLContext, requireCaller } from '../context.ts'
import { LedgerTransferType } from '../ledger/ledger-transfer.ts'
import { findRequests, RequestType } from './request.ts'

const RequestIdempotency = builder.objectRef<RequestKey>('RequestIdempotency').implement({
  description: 'The `Idempotency-Key` of a request.',
  fields: (t) => ({
    key: t.exposeString('key', { description: 'The key that the client sent.' }),
    replays: t.exposeInt('replays', {
      description: 'Number of repeats that got the stored response and cost nothing.',
    }),
    keptUntil: t.expose('keptUntil', {
      type: 'DateTime',
      description: 'Until when a repeat gets the stored response.',
    }),
  }),
})

builder.objectFields(RequestType, (t) => ({
  ledgerTransfer: t.loadable({
    type: LedgerTransferType,
    nullable: true,
    description: 'The ledger transfer of the charge; null if the request cost nothing.',
    load: async (requestIds: string[], context: GraphQLContext) => {
      const charges = await context.services.money.ledger.chargesOf(requireCaller(context).accountId, requestIds)
      return requestIds.map((requestId) => charges.get(requestId) ?? null)
    },
    resolve: ({ requestId }) => requestId,
  }),
  idempotency: t.loadable({
    type: RequestIdempotency,
    nullable: true,
    description: 'Its `Idempotency-Key`, kept for 24 hours; null if it had none.',
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
    description: 'The charged request; null for other transfers, and after its usage has expired.',
    load: (requestIds: string[], context: GraphQLContext) => findRequests(requestIds, context),
    resolve: ({ requestId }) => requestId,
  }),
)
