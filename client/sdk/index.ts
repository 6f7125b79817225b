export {
  type BalanceChange,
  createClient,
  type ExceededLimit,
  type Quote,
  type RecordedUsage,
  SluiceClient,
  type SubscriptionOptions,
} from './client.ts'
export {
  AbortedError,
  ApiError,
  AuthenticationError,
  ConflictError,
  ConnectionError,
  type ErrorCode,
  type FieldProblem,
  InsufficientBalanceError,
  NotFoundError,
  PermissionError,
  RateLimitError,
  ServerError,
  SluiceError,
  TimeoutError,
  ValidationError,
  type ValidationTree,
} from './errors.ts'
export type { Account, Ledger } from './graphql/account.ts'
export type * from './graphql/operations.ts'
export type { KeyLimits, Limits } from './graphql/rate-limits.ts'
export type * from './graphql/records.ts'
export type { RequestReceipt, Requests } from './graphql/requests.ts'
export type * from './graphql/schema-types.ts'
export type { TypedDocument } from './graphql/typed-document.ts'
export type { Usage, UsageReport } from './graphql/usage.ts'
export type { PageOptions } from './graphql/viewer.ts'
export type { ApiPromise, ApiResponse } from './http/api-promise.ts'
export type { Page, Pages } from './http/pages.ts'
export type { Cost, RateLimits, RateWindow, ResponseInfo, ServingModel } from './http/response-info.ts'
export { formatNanoUsd, toNanoUsd } from './money.ts'
export type { ClientOptions, IdempotentRequestOptions, RequestOptions } from './options.ts'
export type * from './rest/api-keys.ts'
export type * from './rest/billing.ts'
export type { ChatStream } from './rest/chat-stream.ts'
export type * from './rest/chat-types.ts'
export type { EmbeddingsRequest, EmbeddingsResult } from './rest/embeddings.ts'
export type { Model, ModelType, Price } from './rest/models.ts'
export type { Rpc, RpcOptions, RpcProvider } from './rest/rpc.ts'
export { type RpcCall, RpcError, type RpcOutcome } from './rest/rpc-types.ts'
export { signChallenge } from './wallet/sign-in.ts'
export { fromViem, type PaymentTypedData, type Wallet, type WalletSignature } from './wallet/wallet.ts'
export type { TopUp, WalletAccount, WalletBalance, WalletTransaction } from './wallet/wallet-account.ts'
