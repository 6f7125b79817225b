import { RequestFilter } from '../../server/domain/requests/inputs.ts'
import { parseInput } from '../../server/domain/validation/parse-input.ts'
import { AccountType } from '../account/account.ts'
import { builder } from '../builder.ts'
import { pageArgs, pageComplexity, toConnection } from '../pages.ts'
import { RequestOutcomeEnum, RequestType } from './request.ts'

const RequestFilterInput = builder.inputType('RequestFilterInput', {
  description:
    'Which requests to list. An absent filter matches everything; several filters must all match. Up to 100 values each.',
  fields: (t) => ({
    from: t.field({ type: 'DateTime', description: 'Admitted at or after this time; 90 days ago if absent.' }),
    to: t.field({ type: 'DateTime', description: 'Admitted before this time; now if absent.' }),
    apiKeyIds: t.idList({ description: 'Keys, as `ApiKey.apiKeyId`, including revoked ones.' }),
    skus: t.stringList({ description: 'Model ids and `crypto-rpc-<network>`.' }),
    outcomes: t.field({ type: [RequestOutcomeEnum], description: 'Outcomes of the requests.' }),
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
      'The log of finished requests, newest first, including failed ones. A page covers 14 days and, with a filter, at most 5,000 requests. It may be short and still have a next page: use `hasNextPage`.',
    nullable: true,
    authScopes: { owner: true },
    args: {
      ...pageArgs,
      filter: t.arg({ type: RequestFilterInput, description: 'Which requests to return; all if absent.' }),
    },
    complexity: pageComplexity,
    resolve: async ({ id }, { filter, ...page }, { services }) =>
      toConnection(await services.usage.requests.list(id, page, parseInput(RequestFilter, filter ?? {})), page.after),
  }),
  request: t.field({
    type: RequestType,
    nullable: true,
    description: 'The receipt of one request; null if the request is unknown or still running.',
    authScopes: { owner: true },
    args: {
      requestId: t.arg.string({ required: true, description: 'The value of the response header `CF-RAY`.' }),
    },
    resolve: async ({ id }, { requestId }, { services }) => (await services.usage.requests.get(id, requestId)) ?? null,
  }),
}))
