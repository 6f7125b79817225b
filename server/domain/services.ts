import type { AccountService } from './accounts/account-service.ts'
import type { ApiKeyService } from './api-keys/api-key-service.ts'
import type { AuthService } from './auth/auth-service.ts'
import type { Clock } from './clock.ts'
import type { IdSource } from './ids.ts'
import type { IdempotencyService } from './idempotency/idempotency-service.ts'
import type { Catalogue } from './inference/catalogue.ts'
import type { ChatService } from './inference/chat-service.ts'
import type { EmbeddingService } from './inference/embedding-service.ts'
import type { LedgerService } from './ledger/ledger-service.ts'
import type { Log } from './log.ts'
import type { Metering } from './metering/metered-request.ts'
import type { AbuseGuard } from './rate-limits/abuse-guard.ts'
import type { RateLimitService } from './rate-limits/rate-limit-service.ts'
import type { RatePlans } from './rate-limits/rate-plans.ts'
import type { NodeInspector } from './rpc/node-inspector.ts'
import type { RpcService } from './rpc/rpc-service.ts'
import type { UsageService } from './usage/usage-service.ts'

/** What a front may call. The composition root builds it; every front reaches the same instances. */
export interface Services {
  /** Name of the service on the wire: headers `x-<name>-…`, body object `<name>_parameters`. */
  serviceName: string
  /** Revision, `<YYYYMMDD>.<HHMMSS>`. */
  version: string
  /** Errors in OpenAI's form for every caller, not only for those who ask by header. */
  openAiErrors: boolean
  clock: Clock
  ids: IdSource
  log: Log
  accounts: AccountService
  apiKeys: ApiKeyService
  auth: AuthService
  abuseGuard: AbuseGuard
  ratePlans: RatePlans
  rateLimits: RateLimitService
  metering: Metering
  ledger: LedgerService
  usage: UsageService
  catalogue: Catalogue
  chat: ChatService
  embeddings: EmbeddingService
  rpc: RpcService
  rpcNodes: NodeInspector
  idempotency: IdempotencyService
}
