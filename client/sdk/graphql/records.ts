/* Generated from operations.graphql and the schema by `npm run generate`. */
import type { AccountKind, AccountTier, Currency, LedgerTransferKind, RateLimitScope, RateLimitType, RequestModelType, RequestOutcome, UsageUnitType, WalletChain } from './schema-types.ts'

/** What an account has in one currency. */
export interface AccountBalance {
  /** The currency. */
  currency: Currency
  /** Everything that is there, held or not. */
  balance: string
  /** What running requests have set aside at their highest price. */
  held: string
  /** What a new request can spend: `balance` less `held`. */
  free: string
}

/** The account that a credential belongs to: one balance, one set of limits. */
export interface AccountDetails {
  /** The id by which the REST API and the operator know the account. */
  accountId: string
  /** The name that the operator gave it; of a wallet its address. */
  name: string | null
  /** How the account came to be. */
  kind: AccountKind | null
  /** Which rate limits apply. */
  tier: AccountTier
  /** One for each currency that the account has had. */
  balances: AccountBalance[]
}

/** One posting of the account's ledger, which is only ever added to. */
export interface LedgerEntry {
  /** Id of the posting. */
  transferId: string
  /** When it was posted. */
  createdAt: string
  /** Why money moved. */
  kind: LedgerTransferKind
  /** The currency that moved. */
  currency: Currency
  /** Positive into the account, negative out of it. */
  amount: string
  /** The balance of that currency right after. */
  balanceAfter: string
  /** The request that was charged, as its response header `CF-RAY` named it. */
  requestId: string | null
  /** What the operator wrote about it. */
  reason: string | null
  /** What makes a grant or a top-up post only once. */
  reference: string | null
}

/** A request that was admitted and has ended: what it used, what it cost and how it went. This is its receipt. */
export interface RequestRecord {
  /** As the response header `CF-RAY` named it. */
  requestId: string
  /** When its hold was placed. */
  admittedAt: string
  /** When its charge was written. */
  settledAt: string
  /** Model id, or `crypto-rpc-<network>`. */
  sku: string
  /** Name of the model for people. */
  modelName: string
  /** What kind of model it called; null for RPC. */
  modelType: RequestModelType | null
  /** Slug of the RPC network; null for models. */
  network: string | null
  /** The key that it was sent with, as `ApiKey.apiKeyId`; null for a wallet. */
  apiKeyId: string | null
  /** How it ended. */
  outcome: RequestOutcome
  /** What it was paid in. */
  currency: Currency
  /** What it cost. */
  charge: string
  /** What was set aside for it at the highest price; the rest was freed when it ended. */
  hold: string
  /** What its units are. */
  unitType: UsageUnitType
  /** Its priced parts; empty when it failed. */
  lines: {
    /** `Input`, `Output`, `Cache Read`, `Cache Write`; for RPC the method. */
    type: string
    /** How much was used. */
    units: string
    /** The price of one unit in USD that was used; null where the line has no such price. */
    unitPrice: string | null
    /** What it cost. */
    amount: string
  }[]
  /** Name of the provider or node that answered; null where none did. */
  upstream: string | null
  /** Providers or nodes that failed before that one. */
  retries: number
  /** From the admission to the end, in milliseconds. */
  durationMs: number
  /** Whether the service's own count stands in for the provider's. */
  estimated: boolean
}

/** The limits of one model or endpoint, and how much of them is used. A request must pass every window. */
export interface LimitFill {
  /** Model id, or `endpoint:` and a path. */
  subject: string
  /** XS to L for a text model, otherwise the account's tier. */
  tier: string
  /** The windows that a request consumes from, all or none. */
  windows: {
    /** What is counted. */
    type: RateLimitType
    /** Whose requests are counted together. */
    scope: RateLimitScope
    /** Most in any span of the window. */
    limit: number
    /** What counts at this moment; estimates of running requests are in it. */
    used: number
    /** What is left at this moment. */
    remaining: number
    /** When the window is empty if nothing else comes; now for one that is empty. */
    resetAt: string
  }[]
}

/** A request that exceeded a limit and was refused. */
export interface LimitRefusal {
  /** Id of the refusal. */
  refusalId: string
  /** When it was refused. */
  refusedAt: string
  /** Key of the request, as `ApiKey.apiKeyId`; null for a wallet. */
  apiKeyId: string | null
  /** Model id, `endpoint:` and a path, or `model:unknown` where nothing was looked up yet. */
  subject: string
  /** XS to L for a text model, otherwise the account's tier. */
  tier: string
  /** What was exceeded. */
  type: RateLimitType
}

/** Usage of one combination of the dimensions in `groupBy`. The other dimensions are null. */
export interface UsageCell {
  /** When the HOUR, DAY, WEEK or MONTH begins. A week or month at the edge of the report has only the days of the report. */
  startsAt: string | null
  /** The zone's day at `startsAt`. */
  day: string | null
  /** Model id or `crypto-rpc-<network>` of SKU. */
  sku: string | null
  /** Slug of NETWORK; null for models. */
  network: string | null
  /** JSON-RPC method or kind of line of METHOD. */
  method: string | null
  /** Key of API_KEY, as `ApiKey.apiKeyId`; null for requests without one. */
  apiKeyId: string | null
  /** Currency of CURRENCY. */
  currency: Currency | null
  /** Unit of UNIT_TYPE. */
  unitType: UsageUnitType | null
  /** Kind of model of MODEL_TYPE; null for RPC. */
  modelType: RequestModelType | null
  /** What was charged. Both currencies together unless they are grouped or filtered. */
  amount: string
  /** What was paid in USD. */
  usd: string
  /** What was paid in DIEM. */
  diem: string
  /** Requests, each counted once. In rows of METHOD, or where methods are filtered, each counts with every one that it has. */
  requests: number
  /** Units; null where units of several kinds would be added up: group by UNIT_TYPE to see each. */
  units: string | null
}

/** A wallet that acts as the account: it signs in as it, and what it pays is credited to it. */
export interface LinkedWallet {
  /** Since when. */
  linkedAt: string
  /** The wallet. */
  wallet: {
    /** What kind of key it has. */
    chain: WalletChain
    /** In lower case on EVM; as it is on Solana. */
    address: string
  }
}

/** The link that was made, and what moved with it. */
export interface WalletLink {
  /** The wallet and its link. */
  linkedWallet: LinkedWallet
  /** What was free on the wallet's own account and is on this one now. */
  movedUsd: string
  /** What was left of the wallet's DIEM of this day, alike. */
  movedDiem: string
}

/** The fields of a message to sign (EIP-4361; on Solana the same lines). */
export interface SignInMessage {
  /** Host that the message is for. */
  domain: string
  /** What the message is for; its origin counts. */
  uri: string
  /** Always `1`. */
  version: string
  /** Fresh; a wallet may as well make up its own. */
  nonce: string
  /** Now, as RFC 3339 writes it. */
  issuedAt: string
  /** Five minutes later. */
  expirationTime: string
  /** What the wallet shows; any other does as well. */
  statement: string
  /** What the message is about. */
  resources: string[]
}

/** Where a page lies in the whole list. */
export interface PageEnd {
  /** Cursor of the last item, for `after`; null on an empty page. */
  endCursor: string | null
  /** Whether items follow this page. */
  hasNextPage: boolean
}
