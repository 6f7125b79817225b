import type { inferRouterInputs, inferRouterOutputs } from '@trpc/server'
import type { PrivateKeyAccount } from 'viem'
import { describe, expectTypeOf, test } from 'vitest'
import type {
  ApiKey,
  ApiPromise,
  ApiResponse,
  ChatCompletion,
  ChatCompletionChunk,
  ChatStream,
  Cost,
  CreatedApiKey,
  EmbeddingsResult,
  ErrorCode,
  LedgerEntry,
  LinkedWallet,
  Page,
  Pages,
  RecordedUsage,
  RequestRecord,
  ResponseInfo,
  RotateApiKeyData,
  RpcError,
  RpcOutcome,
  SluiceClient,
  TypedDocument,
  UpdatedApiKey,
  Wallet,
  WalletLink,
} from '../../client/sdk/index.ts'
import {
  ApiError,
  type AuthenticationError,
  type ConnectionError,
  type fromViem,
  RateLimitError,
  type SluiceError,
  type signChallenge,
  type TimeoutError,
} from '../../client/sdk/index.ts'
import { createOperatorClient } from '../../client/sdk/operator/operator-client.ts'
import type { toCreatedKey, toListedKey, toUpdatedKey } from '../../rest-facade/api-keys/api-key-response.ts'
import type { AppRouter } from '../../schema/trpc/router.ts'

declare const sluice: SluiceClient
const request = { model: 'm', messages: [{ role: 'user' as const, content: 'x' }] }

describe('chat', () => {
  test('gives a completion or a stream, by the request', () => {
    const { create } = sluice.chat.completions
    expectTypeOf(create(request)).toEqualTypeOf<ApiPromise<ChatCompletion>>()
    expectTypeOf(create({ ...request, stream: false })).toEqualTypeOf<ApiPromise<ChatCompletion>>()
    expectTypeOf(create({ ...request, stream: true })).toEqualTypeOf<ApiPromise<ChatStream>>()
    const unknown = create({ ...request, stream: Math.random() > 0.5 })
    expectTypeOf(unknown).toEqualTypeOf<ApiPromise<ChatCompletion> | ApiPromise<ChatStream>>()
    expectTypeOf<ChatStream>().toExtend<AsyncIterable<ChatCompletionChunk>>()
  })

  test('rejects a request without a model, and takes fields that it does not know', () => {
    // @ts-expect-error a model is missing
    void sluice.chat.completions.create({ messages: [] })
    void sluice.chat.completions.create({ ...request, some_new_field: 1, reasoning_effort: 'enormous' })
  })
})

describe('a response', () => {
  test('has its data alone, or with everything else', () => {
    expectTypeOf<Awaited<ApiPromise<ChatCompletion>>>().toEqualTypeOf<ChatCompletion>()
    expectTypeOf(sluice.models.list().withResponse()).resolves.toExtend<ApiResponse<unknown>>()
    expectTypeOf<ResponseInfo['cost']>().toEqualTypeOf<Cost | null>()
    expectTypeOf<Cost['nanoUsd']>().toEqualTypeOf<bigint | null>()
  })

  test('for embeddings is numbers or text, by the encoding', () => {
    const floats = sluice.embeddings.create({ model: 'm', input: 'x' })
    expectTypeOf(floats).resolves.toEqualTypeOf<EmbeddingsResult>()
    const texts = sluice.embeddings.create({ model: 'm', input: 'x', encoding_format: 'base64' })
    expectTypeOf(texts).resolves.toEqualTypeOf<EmbeddingsResult<string>>()
  })

  test('from a node has the type given by the caller, otherwise unknown', () => {
    expectTypeOf(sluice.rpc.request('n', { method: 'm' })).resolves.toEqualTypeOf<unknown>()
    expectTypeOf(sluice.rpc.request<string>('n', { method: 'm' })).resolves.toEqualTypeOf<string>()
    const outcome = {} as RpcOutcome
    if (outcome.ok) expectTypeOf(outcome.result).toEqualTypeOf<unknown>()
    else expectTypeOf(outcome.error).toEqualTypeOf<RpcError>()
  })
})

describe('lists', () => {
  test('give their items, page by page if requested', () => {
    expectTypeOf(sluice.ledger.list()).toEqualTypeOf<Pages<LedgerEntry>>()
    expectTypeOf(sluice.requests.list({ skus: ['x'] })).toEqualTypeOf<Pages<RequestRecord>>()
    expectTypeOf<Pages<number>>().toExtend<AsyncIterable<number>>()
    expectTypeOf<Page<number>['nextCursor']>().toEqualTypeOf<string | null>()
  })
})

describe('GraphQL', () => {
  test('takes the variables of a typed document and gives its data', () => {
    const document = {} as TypedDocument<{ name: string }, { id: string }>
    expectTypeOf(sluice.graphql(document, { id: 'x' })).resolves.toEqualTypeOf<{ name: string }>()
    // @ts-expect-error the variables are missing
    void sluice.graphql(document)
    // @ts-expect-error the id is a text
    void sluice.graphql(document, { id: 1 })
    expectTypeOf(sluice.graphql('{ viewer { name } }')).resolves.toEqualTypeOf<unknown>()
    expectTypeOf(sluice.usageRecorded()).toEqualTypeOf<AsyncIterableIterator<RecordedUsage>>()
  })

  test('distinguishes results of mutations by their type name', () => {
    const result = {} as RotateApiKeyData['rotateApiKey']
    if (result.__typename === 'RotateApiKeySuccess') expectTypeOf(result.secret).toEqualTypeOf<string>()
    else expectTypeOf(result.message).toEqualTypeOf<string>()
    // @ts-expect-error only a success has a secret
    void result.secret
  })
})

describe('a quote', () => {
  test('is for exactly one kind of request', () => {
    void sluice.quote({ image: { model: 'm' } })
    // @ts-expect-error nothing to quote
    void sluice.quote({})
    // @ts-expect-error two requests
    void sluice.quote({ image: { model: 'm' }, chat: { model: 'm' } })
  })
})

describe('wallets', () => {
  test('are local accounts of viem, or anything that signs', () => {
    expectTypeOf<PrivateKeyAccount>().toExtend<Parameters<typeof fromViem>[0]>()
    expectTypeOf<typeof fromViem>().returns.toEqualTypeOf<Wallet>()
    expectTypeOf<{ address: string; signMessage: (message: string) => Uint8Array }>().toExtend<Wallet>()
    expectTypeOf<{ address: string }>().not.toExtend<Wallet>()
  })

  test('are linked directly, or by a message that one of them signed elsewhere', () => {
    expectTypeOf(sluice.account.linkWallet).parameter(0).toEqualTypeOf<Wallet | string>()
    expectTypeOf(sluice.account.linkWallet('signed')).toEqualTypeOf<ApiPromise<WalletLink>>()
    expectTypeOf(sluice.account.wallets()).resolves.toEqualTypeOf<LinkedWallet[]>()
    expectTypeOf(sluice.account.unlinkWallet('0x')).resolves.toEqualTypeOf<LinkedWallet>()
    expectTypeOf(sluice.account.walletLinkChallenge()).resolves.toEqualTypeOf<Parameters<typeof signChallenge>[1]>()
  })

  test('make keys with any settings but the type left out', () => {
    expectTypeOf(sluice.wallet.createApiKey({ apiKeyType: 'ADMIN' })).resolves.toEqualTypeOf<CreatedApiKey>()
    // @ts-expect-error what kind of key it is must be said
    void sluice.wallet.createApiKey({ description: 'x' })
  })
})

describe('periods of analytics', () => {
  test('are a number of days, or a whole range', () => {
    void sluice.billing.usageAnalytics({ lookback: '30d' })
    void sluice.billing.usageAnalytics({ startDate: '2026-01-01', endDate: '2026-01-31' })
    // @ts-expect-error days end in d
    void sluice.billing.usageAnalytics({ lookback: '30' })
    // @ts-expect-error half a range
    void sluice.billing.usageAnalytics({ startDate: '2026-01-01' })
  })
})

describe('errors', () => {
  test('have one base, and the facts of a response if there was one', () => {
    expectTypeOf<RateLimitError>().toExtend<ApiError>()
    expectTypeOf<AuthenticationError>().toExtend<SluiceError>()
    expectTypeOf<TimeoutError>().toExtend<ConnectionError>()
    const thrown: unknown = null
    if (thrown instanceof RateLimitError) expectTypeOf(thrown.retryAfterSeconds).toEqualTypeOf<number | null>()
    if (thrown instanceof ApiError) expectTypeOf(thrown.code).toEqualTypeOf<ErrorCode>()
    expectTypeOf<'SOMETHING_NEW'>().toExtend<ErrorCode>()
  })
})

describe('the types of the wire', () => {
  test('fit what the service really sends', () => {
    expectTypeOf<ReturnType<typeof toCreatedKey>>().toExtend<CreatedApiKey>()
    expectTypeOf<ReturnType<typeof toUpdatedKey>>().toExtend<UpdatedApiKey>()
    expectTypeOf<ReturnType<typeof toListedKey>>().toExtend<ApiKey>()
  })

  test('match the router for the operator surface', () => {
    const operator = createOperatorClient<AppRouter>({ baseUrl: '', operatorToken: '' })
    type Inputs = inferRouterInputs<AppRouter>['accounts']
    type Outputs = inferRouterOutputs<AppRouter>['accounts']
    expectTypeOf(operator.accounts.create.mutate).parameter(0).toEqualTypeOf<Inputs['create']>()
    expectTypeOf(operator.accounts.create.mutate).returns.resolves.toEqualTypeOf<Outputs['create']>()
    expectTypeOf(operator.accounts.list.query).returns.resolves.toEqualTypeOf<Outputs['list']>()
    void operator.accounts.list.query()
    // @ts-expect-error a query is no mutation
    void operator.accounts.list.mutate
    // @ts-expect-error there is no such procedure
    void operator.accounts.nothing
    // @ts-expect-error the input is missing
    void operator.accounts.get.query()
  })
})
