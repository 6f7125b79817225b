/* Generated from operations.graphql and the schema by `npm run generate`. */
import type { AccountKind, AccountTier, Currency, LedgerTransferKind, RateLimitScope, RateLimitType, RequestModelType, RequestOutcome, UsageUnitType, WalletChain } from './schema-types.ts'

/** The balance of an account in one currency. */
export interface AccountBalance {
  /** The currency. */
  currency: Currency
  /** The whole balance, including the held part. */
  balance: string
  /** The amount held by running requests, each at its worst-case price. */
  held: string
  /** The amount that a new request can spend: `balance` minus `held`. */
  free: string
}

/** The account that a credential belongs to: one balance, one set of limits. */
export interface AccountDetails {
  /** The account's id in the REST API and for operators. */
  accountId: string
  /** The name set by the operator; for a wallet's account, its address. */
  name: string | null
  /** How the account was created. */
  kind: AccountKind | null
  /** The tier that decides the rate limits. */
  tier: AccountTier
  /** One for each currency that the account has used. */
  balances: AccountBalance[]
}

/** One transfer of the account's append-only ledger. */
export interface LedgerEntry {
  /** Id of the transfer. */
  transferId: string
  /** When the transfer was posted. */
  createdAt: string
  /** The reason for a transfer. */
  kind: LedgerTransferKind
  /** The currency of the transfer. */
  currency: Currency
  /** Positive for money into the account, negative for money out of it. */
  amount: string
  /** The balance in this currency after the transfer. */
  balanceAfter: string
  /** Id of the charged request, as in its response header `CF-RAY`. */
  requestId: string | null
  /** The reason given by the operator. */
  reason: string | null
  /** Reference that prevents a grant or top-up from being posted twice. */
  reference: string | null
}

/** The receipt of a finished request: its usage, cost and outcome. */
export interface RequestRecord {
  /** The value of the response header `CF-RAY`. */
  requestId: string
  /** When the request was admitted and its hold was created. */
  admittedAt: string
  /** When the charge was committed. */
  settledAt: string
  /** Model id, or `crypto-rpc-<network>`. */
  sku: string
  /** Display name of the model. */
  modelName: string
  /** The kind of model that was called; null for RPC. */
  modelType: RequestModelType | null
  /** Slug of the RPC network; null for models. */
  network: string | null
  /** The key of the request, as `ApiKey.apiKeyId`; null for a wallet. */
  apiKeyId: string | null
  /** How the request ended. */
  outcome: RequestOutcome
  /** The currency of the charge. */
  currency: Currency
  /** The amount charged. */
  charge: string
  /** The amount that was held at the worst-case price. The unspent part was released at the end. */
  hold: string
  /** The unit of `units`. */
  unitType: UsageUnitType
  /** The priced parts of the request; empty if it failed. */
  lines: {
    /** `Input`, `Output`, `Cache Read`, `Cache Write`; for RPC the method. */
    type: string
    /** The number of units used. */
    units: string
    /** The price of one unit in USD; null if the line has no unit price. */
    unitPrice: string | null
    /** The amount charged. */
    amount: string
  }[]
  /** Id of the provider or node that responded; null if none did. */
  upstream: string | null
  /** Number of providers or nodes that failed before `upstream`. */
  retries: number
  /** Milliseconds from the admission to the end. */
  durationMs: number
  /** Whether the usage was counted by the service because the provider reported none. */
  estimated: boolean
}

/** The limits of one model or endpoint, and their current use. A request must pass every window. */
export interface LimitFill {
  /** Model id, or `endpoint:` and a path. */
  subject: string
  /** XS to L for a text model, otherwise the account's tier. */
  tier: string
  /** The windows of a request. It consumes from all of them or from none. */
  windows: {
    /** The kind of limit. */
    type: RateLimitType
    /** Which requests are counted together. */
    scope: RateLimitScope
    /** Maximum in any period of the window's length. */
    limit: number
    /** The current use, including estimates of running requests. */
    used: number
    /** The current remainder. */
    remaining: number
    /** When the window will be empty if no other request arrives; the current time if it is empty. */
    resetAt: string
  }[]
}

/** A request that exceeded a limit and was rejected. */
export interface LimitRefusal {
  /** Id of the rejection. */
  refusalId: string
  /** When the request was rejected. */
  refusedAt: string
  /** Key of the request, as `ApiKey.apiKeyId`; null for a wallet. */
  apiKeyId: string | null
  /** Model id, `endpoint:` and a path, or `model:unknown` if the request was rejected before its model was known. */
  subject: string
  /** XS to L for a text model, otherwise the account's tier. */
  tier: string
  /** The limit that was exceeded. */
  type: RateLimitType
}

/** Usage of one combination of the dimensions in `groupBy`. Other dimensions are null. */
export interface UsageCell {
  /** When the HOUR, DAY, WEEK or MONTH begins. A week or month at the edge of the report contains only the days of the report. */
  startsAt: string | null
  /** The day of `startsAt` in the time zone. */
  day: string | null
  /** The dimension SKU: a model id or `crypto-rpc-<network>`. */
  sku: string | null
  /** The dimension NETWORK, as a slug; null for models. */
  network: string | null
  /** The dimension METHOD: a JSON-RPC method or kind of line. */
  method: string | null
  /** The dimension API_KEY, as `ApiKey.apiKeyId`; null for requests without a key. */
  apiKeyId: string | null
  /** The dimension CURRENCY. */
  currency: Currency | null
  /** The dimension UNIT_TYPE. */
  unitType: UsageUnitType | null
  /** The dimension MODEL_TYPE; null for RPC. */
  modelType: RequestModelType | null
  /** The amount charged, in both currencies together unless they are grouped or filtered. */
  amount: string
  /** Amount paid in USD. */
  usd: string
  /** Amount paid in DIEM. */
  diem: string
  /** Number of requests, each counted once. In rows by METHOD, or with a filter by methods, a request counts once for each of its methods. */
  requests: number
  /** Number of units; null if units of several kinds would be added up. Group by UNIT_TYPE to see each kind. */
  units: string | null
}

/** A wallet that acts as the account: it signs in as the account, and its payments are credited to it. */
export interface LinkedWallet {
  /** When the wallet was linked. */
  linkedAt: string
  /** The wallet. */
  wallet: {
    /** The chain of the wallet. */
    chain: WalletChain
    /** The address, in lower case for EVM; case-sensitive for Solana. */
    address: string
  }
}

/** The new link, and the amounts that moved. */
export interface WalletLink {
  /** The wallet and its link. */
  linkedWallet: LinkedWallet
  /** The free USD balance of the wallet's own account, which moved to this account. */
  movedUsd: string
  /** The rest of the wallet's DIEM of this day, which moved to this account. */
  movedDiem: string
}

/** The fields of a message to sign (EIP-4361; the same lines on Solana). */
export interface SignInMessage {
  /** Host that the message is for. */
  domain: string
  /** The URI that the message is for; only its origin is checked. */
  uri: string
  /** Always `1`. */
  version: string
  /** A new nonce; a wallet may also create its own. */
  nonce: string
  /** The current time in RFC 3339. */
  issuedAt: string
  /** Five minutes after `issuedAt`. */
  expirationTime: string
  /** The text that the wallet shows; any other text is accepted too. */
  statement: string
  /** The resources that the message is about. */
  resources: string[]
}

/** The position of a page in the list. */
export interface PageEnd {
  /** Cursor of the last item, for `after`; null on an empty page. */
  endCursor: string | null
  /** Whether there are items after this page. */
  hasNextPage: boolean
}
