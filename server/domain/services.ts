import type { AccountService } from './accounts/account-service.ts'
import type { ApiKeyService } from './api-keys/api-key-service.ts'
import type { AuditService } from './audit/audit-service.ts'
import type { AuthService } from './auth/auth-service.ts'
import type { CredentialWatch } from './auth/credential-watch.ts'
import type { BodyReader } from './bodies/body-reader.ts'
import type { Catalogue } from './catalogue/catalogue.ts'
import type { CatalogueService } from './catalogue/changes/catalogue-service.ts'
import type { ClientAddresses } from './client-addresses.ts'
import type { Clock } from './clock.ts'
import type { CurrentLimitsService } from './current-limits/current-limits-service.ts'
import type { IdempotencyService } from './idempotency/idempotency-service.ts'
import type { IdSource } from './ids.ts'
import type { ChatService } from './inference/chat/chat-service.ts'
import type { EmbeddingService } from './inference/embeddings/embedding-service.ts'
import type { QuoteService } from './inference/quotes/quote-service.ts'
import type { LedgerService } from './ledger/ledger-service.ts'
import type { Log } from './log.ts'
import type { Metering } from './metering/metered-request.ts'
import type { PaymentOperations } from './payments/payment-operations.ts'
import type { PaymentOptions } from './payments/payment-options.ts'
import type { PaymentService } from './payments/payment-service.ts'
import type { PlatformService } from './platform/platform-service.ts'
import type { AbuseGuard } from './rate-limits/abuse-guard.ts'
import type { LimitOverrideService } from './rate-limits/limit-override-service.ts'
import type { RateLimitService } from './rate-limits/rate-limit-service.ts'
import type { RatePlans } from './rate-limits/rate-plans.ts'
import type { RefusalLog } from './rate-limits/refusal-log.ts'
import type { RequestService } from './requests/request-service.ts'
import type { NodeInspector } from './rpc/node-inspector.ts'
import type { RpcService } from './rpc/rpc-service.ts'
import type { UsageHistoryService } from './usage/history/usage-history-service.ts'
import type { UsageAnalyticsService } from './usage/reports/usage-analytics-service.ts'
import type { UsageService } from './usage/reports/usage-service.ts'
import type { SignInChallenges } from './wallets/sign-in/sign-in-challenge.ts'
import type { SignInService } from './wallets/sign-in/sign-in-service.ts'
import type { WalletSessions } from './wallets/sign-in/wallet-session.ts'
import type { WalletAccounts } from './wallets/wallet-accounts.ts'
import type { WalletLinks } from './wallets/wallet-links.ts'
import type { WalletStatements } from './wallets/wallet-statements.ts'
import type { Web3KeyService } from './wallets/web3-key-service.ts'

/** How the service presents itself on the wire. */
export interface ServiceIdentity {
  /** Name of the service on the wire: headers `x-<name>-…`, body object `<name>_parameters`. */
  serviceName: string
  /** Origin under which clients reach the service. */
  publicUrl: string
  /** Documentation page for callers; null if there is none. */
  docsUrl: string | null
  /** Browser origins that may call the API; `*` allows all. */
  allowedOrigins: readonly string[]
  /** Revision, `<YYYYMMDD>.<HHMMSS>`. */
  version: string
  /** Uses OpenAI's error form for every caller, not only for those that request it by header. */
  openAiErrors: boolean
}

/** The services that an API may call, by area. The composition root builds them; every API uses the same instances. */
export interface Services {
  identity: ServiceIdentity
  clientAddresses: ClientAddresses
  clock: Clock
  ids: IdSource
  bodies: BodyReader
  log: Log
  accounts: AccountService
  access: { auth: AuthService; apiKeys: ApiKeyService; credentialWatch: CredentialWatch }
  limits: {
    abuseGuard: AbuseGuard
    ratePlans: RatePlans
    rateLimits: RateLimitService
    refusals: RefusalLog
    currentLimits: CurrentLimitsService
    overrides: LimitOverrideService
  }
  money: { metering: Metering; ledger: LedgerService }
  usage: {
    cubes: UsageService
    analytics: UsageAnalyticsService
    history: UsageHistoryService
    requests: RequestService
  }
  models: { catalogue: Catalogue; changes: CatalogueService }
  inference: { chat: ChatService; embeddings: EmbeddingService; quotes: QuoteService }
  rpc: { proxy: RpcService; nodes: NodeInspector }
  wallets: {
    signIn: SignInService
    challenges: SignInChallenges
    accounts: WalletAccounts
    sessions: WalletSessions
    statements: WalletStatements
    links: WalletLinks
    web3Keys: Web3KeyService
  }
  payments: {
    payments: PaymentService
    options: PaymentOptions
    operations: PaymentOperations
  }
  operations: { audit: AuditService; platform: PlatformService }
  idempotency: IdempotencyService
}
