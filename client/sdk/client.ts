import { Account, Ledger } from './graphql/account.ts'
import { pickFromOperation, readData, runOperation } from './graphql/graphql-client.ts'
import {
  BALANCE_CHANGED,
  type BalanceChangedData,
  QUOTE,
  type QuoteData,
  RATE_LIMIT_EXCEEDED,
  type RateLimitExceededData,
  USAGE_RECORDED,
  type UsageRecordedData,
} from './graphql/operations.ts'
import { Limits } from './graphql/rate-limits.ts'
import { Requests } from './graphql/requests.ts'
import type { QuoteInput } from './graphql/schema-types.ts'
import type { TypedDocument, VariablesArguments } from './graphql/typed-document.ts'
import { Usage } from './graphql/usage.ts'
import type { ApiPromise } from './http/api-promise.ts'
import { sleep, Transport } from './http/transport.ts'
import { LiveConnection } from './live/live-connection.ts'
import type { ClientOptions, RequestOptions } from './options.ts'
import { ApiKeys } from './rest/api-keys.ts'
import { Billing } from './rest/billing.ts'
import { Chat } from './rest/chat.ts'
import { Embeddings } from './rest/embeddings.ts'
import { Models } from './rest/models.ts'
import { Rpc } from './rest/rpc.ts'
import { createCredentials } from './wallet/credentials.ts'
import { WalletAccount } from './wallet/wallet-account.ts'

export type Quote = QuoteData['quote']
export type BalanceChange = BalanceChangedData['balanceChanged']
export type RecordedUsage = UsageRecordedData['usageRecorded']
export type ExceededLimit = RateLimitExceededData['rateLimitExceeded']

/** The client of one account, over REST and GraphQL. */
export class SluiceClient {
  readonly chat: Chat
  readonly embeddings: Embeddings
  readonly models: Models
  readonly rpc: Rpc
  readonly apiKeys: ApiKeys
  readonly account: Account
  readonly ledger: Ledger
  readonly requests: Requests
  readonly rateLimits: Limits
  readonly usage: Usage
  readonly billing: Billing
  readonly wallet: WalletAccount
  readonly #transport: Transport
  readonly #live: LiveConnection

  constructor(options: ClientOptions) {
    const credentials = createCredentials(options)
    const transport = new Transport(options, credentials.authorize)
    this.#transport = transport
    this.#live = new LiveConnection({
      url: `${transport.rootUrl.replace(/^http/, 'ws')}/graphql`,
      webSocket: options.webSocket,
      maxRetries: options.maxRetries ?? 2,
      toInitPayload: async () => ({ authorization: `Bearer ${await credentials.token()}` }),
      wait: async (delayMs) => (options.wait ?? sleep)(delayMs, undefined),
    })
    this.chat = new Chat(transport)
    this.embeddings = new Embeddings(transport)
    this.models = new Models(transport)
    this.rpc = new Rpc(transport)
    this.apiKeys = new ApiKeys(transport)
    this.account = new Account(transport)
    this.ledger = new Ledger(transport)
    this.requests = new Requests(transport)
    this.rateLimits = new Limits(transport)
    this.usage = new Usage(transport)
    this.billing = new Billing(transport)
    this.wallet = new WalletAccount(transport, { wallet: options.wallet, signOut: credentials.signOut })
  }

  /**
   * The price of a request before it is sent: its expected cost, and the amount that the balance must cover.
   *
   * @example
   * const { price, hold } = await sluice.quote({ chat: { model: 'default', promptTokens: 1_000, maxTokens: 500 } })
   */
  quote(input: QuoteInput, options?: RequestOptions): ApiPromise<Quote> {
    const toResult = (data: QuoteData): Quote => data.quote
    return pickFromOperation(this.#transport, { document: QUOTE, variables: { input }, toResult }, options)
  }

  /**
   * Runs any GraphQL query or mutation. A typed document sets the types of its variables and data.
   *
   * @example
   * const { rpcNetworks } = await sluice.graphql<{ rpcNetworks: { slug: string }[] }>('{ rpcNetworks { slug } }')
   */
  graphql<Data = unknown, Variables = Record<string, unknown>>(
    document: string | TypedDocument<Data, Variables>,
    ...[variables, options]: VariablesArguments<Variables, RequestOptions>
  ): ApiPromise<Data> {
    return runOperation(this.#transport, { document, variables }, options)
  }

  /**
   * Runs any GraphQL subscription. All subscriptions share one socket. After a lost connection the subscription
   * restarts from the beginning. Leaving the loop ends it.
   */
  subscribe<Data = unknown, Variables = Record<string, unknown>>(
    document: string | TypedDocument<Data, Variables>,
    ...[variables, options]: VariablesArguments<Variables, SubscriptionOptions>
  ): AsyncIterableIterator<Data> {
    const query = document.toString()
    const plan = {
      query,
      toVariables: () => variables as Record<string, unknown> | undefined,
      toEvent: (result: unknown) => readData(result, null) as Data,
    }
    return this.#live.subscribe(plan, options?.signal)
  }

  /**
   * The balances at once, and again within 250 ms of every change. After a lost connection, and for a slow reader, the
   * next event has the newest state.
   *
   * @example
   * for await (const { balances } of sluice.balanceChanges({ signal })) show(balances)
   */
  balanceChanges(options?: SubscriptionOptions): AsyncIterableIterator<BalanceChange> {
    const plan = {
      query: BALANCE_CHANGED.toString(),
      toVariables: () => undefined,
      toEvent: (result: unknown) => (readData(result, null) as BalanceChangedData).balanceChanged,
      newestOnly: true as const,
    }
    return this.#live.subscribe(plan, options?.signal)
  }

  /**
   * Every request of the account only once, in the order in which they end, within 250 ms of the charge. The first
   * event has no requests; its cursor marks the beginning of the stream. A lost connection leaves no gap. A new process
   * continues without a gap if it passes the last `cursor` as `after`. Requires an ADMIN key.
   *
   * @example
   * for await (const { requests, cursor } of sluice.usageRecorded({ after: saved })) {
   *   for (const { requestId, charge } of requests) console.log(requestId, charge)
   *   saved = cursor
   * }
   */
  usageRecorded({
    after,
    signal,
  }: SubscriptionOptions & { after?: string } = {}): AsyncIterableIterator<RecordedUsage> {
    const plan = {
      query: USAGE_RECORDED.toString(),
      toVariables: (last: RecordedUsage | null) => ({ after: last?.cursor ?? after }),
      toEvent: (result: unknown) => (readData(result, null) as UsageRecordedData).usageRecorded,
    }
    return this.#live.subscribe(plan, signal)
  }

  /**
   * Requests that exceed a limit, when they are rejected; `rateLimits.log` has the missed ones. Requires an ADMIN key.
   */
  rateLimitExceeded(options?: SubscriptionOptions): AsyncIterableIterator<ExceededLimit> {
    const plan = {
      query: RATE_LIMIT_EXCEEDED.toString(),
      toVariables: () => undefined,
      toEvent: (result: unknown) => (readData(result, null) as RateLimitExceededData).rateLimitExceeded,
    }
    return this.#live.subscribe(plan, options?.signal)
  }
}

export interface SubscriptionOptions {
  /** Ends the subscription with an AbortedError. */
  signal?: AbortSignal | undefined
}

/**
 * A client of one Sluice service.
 *
 * @example
 * const sluice = createClient({ baseUrl: 'https://api.example.com', apiKey })
 */
export function createClient(options: ClientOptions): SluiceClient {
  return new SluiceClient(options)
}
