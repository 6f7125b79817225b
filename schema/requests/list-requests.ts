import { RequestFilter } from '../../server/domain/requests/inputs.ts'
import { parseInput } from '../../server/domain/validation/parse-input.ts'
import { AccountType } from '../account/account.ts'
import { builder } from '../builder.ts'
import { pageArgs, pageComplexity, toConnection } from '../pages.ts'
import { RequestOutcomeEnum, RequestType } from './request.ts'

const RequestFilterInput = builder.inputType('RequestFilterInput', {
  description:
    'Which requests are listed. An absent list is everything; several must all match; up to 100 values each.',
  fields: (t) => ({
    from: t.field({ type: 'DateTime', description: 'Admitted at or after; absent: 90 days back.' }),
    to: t.field({ type: 'DateTime', description: 'Admitted before; absent: now.' }),
    apiKeyIds: t.idList({ description: 'Keys, as `ApiKey.apiKeyId`; revoked ones as well.' }),
    skus: t.stringList({ description: 'Model ids and `crypto-rpc-<network>`.' }),
    outcomes: t.field({ type: [RequestOutcomeEnum], description: 'How they ended.' }),
  }),
})

const RequestConnection = builder.connectionObject(
  { type: RequestType, name: 'RequestConnection', description: 'A page of requests.' },
  { name: 'RequestEdge', description: 'A request with its cursor.' },
)

builder.objectFields(AccountType, (t) => ({
  requests: t.field({
    type: RequestConnection,
    description:
      'The log of requests that have ended, newest first, failed ones included. A page looks back 14 days and, with a filter, at 5,000 requests; it may be short and still have a next one, so go by `hasNextPage`.',
    nullable: true,
    authScopes: { owner: true },
    args: { ...pageArgs, filter: t.arg({ type: RequestFilterInput, description: 'Which of them; absent is all.' }) },
    complexity: pageComplexity,
    resolve: async ({ id }, { filter, ...page }, { services }) =>
      toConnection(await services.usage.requests.list(id, page, parseInput(RequestFilter, filter ?? {})), page.after),
  }),
  request: t.field({
    type: RequestType,
    nullable: true,
    description: 'The receipt of one request; null for an unknown one and while it runs.',
    authScopes: { owner: true },
    args: {
      requestId: t.arg.string({ required: true, description: 'As the response header `CF-RAY` named it.' }),
    },
    resolve: async ({ id }, { requestId }, { services }) => (await services.usage.requests.get(id, requestId)) ?? null,
  }),
}))
