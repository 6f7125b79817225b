/* Generated from operations.graphql and the schema by `npm run generate`. */
import type { AccountBalance, AccountDetails, LedgerEntry, RequestRecord, LimitFill, LimitRefusal, UsageCell, LinkedWallet, WalletLink, SignInMessage, PageEnd } from './records.ts'
import type { ApiKeyType, ImageQuality, LimitPeriod, ModelPrivacy, QuoteInput, RequestFilterInput, RotateApiKeyInput, UsageInput } from './schema-types.ts'
import type { TypedDocument } from './typed-document.ts'

export interface AccountData {
  /** The authenticated account. */
  viewer: AccountDetails | null
}

export const ACCOUNT =
  'query Account{viewer{...AccountDetails}}fragment AccountDetails on Account{accountId name kind tier balances{...AccountBalance}}fragment AccountBalance on Balance{currency balance held free}' as TypedDocument<AccountData, Record<string, never>>

export interface QuoteVariables {
  input: QuoteInput
}

export interface QuoteData {
  /** The price of a request before it is sent, with the same checks as the request. A credential is required only for messages whose tokens must be counted; a key can only quote the models that it may use. */
  quote: {
    /** The amount held before the request runs. The free balance must cover it; the unspent part is released when the request ends. */
    hold: string
    /** The expected price; for a chat, with the number of tokens given in its details. */
    price: string
    /** The details of a chat request. */
    chat: {
      /** The model that would serve the request. */
      modelId: string
      /** Tokens of the prompt. */
      promptTokens: number
      /** Completion tokens of all choices together that `price` assumes: the requested limit, or a typical length. */
      completionTokens: number
    } | null
    /** The details of images. */
    image: {
      /** The model that would serve the request. */
      modelId: string
      /** The number of images. */
      count: number
      /** The price of one image. */
      unitPrice: string
      /** The one that is priced; null if the price does not depend on it. */
      resolution: string | null
      /** The one that is priced; null if the price does not depend on it. */
      quality: ImageQuality | null
    } | null
    /** The details of a JSON-RPC body. */
    rpc: {
      /** All calls together, if each of them succeeds. */
      credits: number
      /** One for each request, in order. */
      calls: {
        /** The method name as used in a request. */
        name: string
        /** Base credits of the network times the factor of the tier. */
        credits: number
        /** The price of a call in USD. */
        price: string
      }[]
    } | null
  }
}

export const QUOTE =
  'query Quote($input:QuoteInput!){quote(input:$input){hold price chat{modelId promptTokens completionTokens}image{modelId count unitPrice resolution quality}rpc{credits calls{name credits price}}}}' as TypedDocument<QuoteData, QuoteVariables>

export interface LedgerPageVariables {
  first: number
  after?: string | null | undefined
}

export interface LedgerPageData {
  /** The authenticated account. */
  viewer: {
    /** All ledger transfers in both currencies, newest first. */
    ledger: {
      /** The items without their cursors. */
      nodes: LedgerEntry[]
      /** The position of this page in the list. */
      pageInfo: PageEnd
    } | null
  } | null
}

export const LEDGER_PAGE =
  'query LedgerPage($first:Int!$after:String){viewer{ledger(first:$first after:$after){nodes{...LedgerEntry}pageInfo{...PageEnd}}}}fragment LedgerEntry on LedgerTransfer{transferId createdAt kind currency amount balanceAfter requestId reason reference}fragment PageEnd on PageInfo{endCursor hasNextPage}' as TypedDocument<LedgerPageData, LedgerPageVariables>

export interface RequestPageVariables {
  first: number
  after?: string | null | undefined
  filter?: RequestFilterInput | null | undefined
}

export interface RequestPageData {
  /** The authenticated account. */
  viewer: {
    /** The log of finished requests, newest first, including failed ones. A page covers 14 days and, with a filter, at most 5,000 requests. It may be short and still have a next page: use `hasNextPage`. */
    requests: {
      /** The items without their cursors. */
      nodes: RequestRecord[]
      /** The position of this page in the list. */
      pageInfo: PageEnd
    } | null
  } | null
}

export const REQUEST_PAGE =
  'query RequestPage($first:Int!$after:String$filter:RequestFilterInput){viewer{requests(first:$first after:$after filter:$filter){nodes{...RequestRecord}pageInfo{...PageEnd}}}}fragment RequestRecord on Request{requestId admittedAt settledAt sku modelName modelType network apiKeyId outcome currency charge hold unitType lines{type units unitPrice amount}upstream retries durationMs estimated}fragment PageEnd on PageInfo{endCursor hasNextPage}' as TypedDocument<RequestPageData, RequestPageVariables>

export interface RequestReceiptVariables {
  requestId: string
}

export interface RequestReceiptData {
  /** The authenticated account. */
  viewer: {
    /** The receipt of one request; null if the request is unknown or still running. */
    request: RequestRecord & {
      /** Its `Idempotency-Key`, kept for 24 hours; null if it had none. */
      idempotency: {
        /** The key that the client sent. */
        key: string
        /** Number of repeats that got the stored response and cost nothing. */
        replays: number
        /** Until when a repeat gets the stored response. */
        keptUntil: string
      } | null
      /** The ledger transfer of the charge; null if the request cost nothing. */
      ledgerTransfer: LedgerEntry | null
    } | null
  } | null
}

export const REQUEST_RECEIPT =
  'query RequestReceipt($requestId:String!){viewer{request(requestId:$requestId){...RequestRecord idempotency{key replays keptUntil}ledgerTransfer{...LedgerEntry}}}}fragment RequestRecord on Request{requestId admittedAt settledAt sku modelName modelType network apiKeyId outcome currency charge hold unitType lines{type units unitPrice amount}upstream retries durationMs estimated}fragment LedgerEntry on LedgerTransfer{transferId createdAt kind currency amount balanceAfter requestId reason reference}' as TypedDocument<RequestReceiptData, RequestReceiptVariables>

export interface UsageCubeVariables {
  input: UsageInput
}

export interface UsageCubeData {
  /** The authenticated account. */
  viewer: {
    /** Exact usage by time, network, method, key and more. Without an input, the last 7 days in one row. */
    usage: {
      /** First day. */
      from: string
      /** Last day, inclusive. */
      to: string
      /** The time zone of the days. */
      timeZone: string
      /** Whether there are more than 1,000 rows. Request fewer days or dimensions to see all rows. */
      truncated: boolean
      /** The sum of all rows, including those beyond the first 1,000. */
      totals: {
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
      /** Rows in the requested order, then by dimensions; at most 1,000. */
      rows: UsageCell[]
    } | null
  } | null
}

export const USAGE_CUBE =
  'query UsageCube($input:UsageInput!){viewer{usage(input:$input){from to timeZone truncated totals{amount usd diem requests units}rows{...UsageCell}}}}fragment UsageCell on UsageRow{startsAt day sku network method apiKeyId currency unitType modelType amount usd diem requests units}' as TypedDocument<UsageCubeData, UsageCubeVariables>

export interface RateLimitPageVariables {
  first: number
  after?: string | null | undefined
}

export interface RateLimitPageData {
  /** The authenticated account. */
  viewer: {
    /** The limits of this credential: first those of each model that it may use, then those of endpoints. */
    rateLimits: {
      /** The items without their cursors. */
      nodes: LimitFill[]
      /** The position of this page in the list. */
      pageInfo: PageEnd
    }
  } | null
}

export const RATE_LIMIT_PAGE =
  'query RateLimitPage($first:Int!$after:String){viewer{rateLimits(first:$first after:$after){nodes{...LimitFill}pageInfo{...PageEnd}}}}fragment LimitFill on RateLimit{subject tier windows{type scope limit used remaining resetAt}}fragment PageEnd on PageInfo{endCursor hasNextPage}' as TypedDocument<RateLimitPageData, RateLimitPageVariables>

export interface RefusalPageVariables {
  first: number
  after?: string | null | undefined
}

export interface RefusalPageData {
  /** The authenticated account. */
  viewer: {
    /** Requests that exceeded a limit, newest first. Requests served by other processes appear within a second. In a burst, at least the 50 newest are kept, for at most 30 days. */
    rateLimitLog: {
      /** The items without their cursors. */
      nodes: LimitRefusal[]
      /** The position of this page in the list. */
      pageInfo: PageEnd
    } | null
  } | null
}

export const REFUSAL_PAGE =
  'query RefusalPage($first:Int!$after:String){viewer{rateLimitLog(first:$first after:$after){nodes{...LimitRefusal}pageInfo{...PageEnd}}}}fragment LimitRefusal on RateLimitRefusal{refusalId refusedAt apiKeyId subject tier type}fragment PageEnd on PageInfo{endCursor hasNextPage}' as TypedDocument<RefusalPageData, RefusalPageVariables>

export interface RotateApiKeyVariables {
  input: RotateApiKeyInput
}

export interface RotateApiKeyData {
  /** Replaces an active API key with a new one that has the same settings. Counts as a key creation. */
  rotateApiKey: ({
    __typename: 'InvalidInput'
    /** The error and how to fix it, in one or two sentences. */
    message: string
    /** The invalid fields. */
    fields: {
      /** The field, such as `limits.usd`. */
      path: string
      /** Each error of the field. */
      messages: string[]
    }[]
  } | {
    __typename: 'LimitReached'
    /** The error and how to fix it, in one or two sentences. */
    message: string
    /** Seconds until a retry can succeed; null if waiting does not help. */
    retryAfterSeconds: number | null
  } | {
    __typename: 'RotateApiKeySuccess'
    /** The secret to send as `Authorization: Bearer <secret>`. It is never shown again. */
    secret: string
    /** The new key. */
    apiKey: {
      /** The key's id in the REST API. */
      apiKeyId: string
      /** What the key may do. */
      type: ApiKeyType
      /** What the key is for; up to 64 characters. */
      description: string
      /** The last six characters of the secret, to distinguish keys. */
      last6Chars: string
      /** When the key's spending is reset to zero. */
      limitPeriod: LimitPeriod
      /** Which models the key may call. */
      modelPrivacy: ModelPrivacy
      /** When the key was created. */
      createdAt: string
      /** When the key expires; null means never. */
      expiresAt: string | null
    }
  })
}

export const ROTATE_API_KEY =
  'mutation RotateApiKey($input:RotateApiKeyInput!){rotateApiKey(input:$input){__typename ...on RotateApiKeySuccess{secret apiKey{apiKeyId type description last6Chars limitPeriod modelPrivacy createdAt expiresAt}}...on InvalidInput{message fields{path messages}}...on LimitReached{message retryAfterSeconds}}}' as TypedDocument<RotateApiKeyData, RotateApiKeyVariables>

export interface SignInWithWalletVariables {
  payload: string
}

export interface SignInWithWalletData {
  /** Signs a wallet in with a signed message, which is accepted only once and within 5 minutes. Fails with UNAUTHENTICATED and the reason in `extensions.reason`. */
  signInWithWallet: {
    /** Token for `Authorization: Bearer`, also on sockets. It can read the account but change nothing. */
    sessionToken: string
    /** When the session expires and its sockets are closed. */
    expiresAt: string
  }
}

export const SIGN_IN_WITH_WALLET =
  'mutation SignInWithWallet($payload:String!){signInWithWallet(input:{payload:$payload}){sessionToken expiresAt}}' as TypedDocument<SignInWithWalletData, SignInWithWalletVariables>

export interface RevokeWalletSessionVariables {
  sessionToken: string
}

export interface RevokeWalletSessionData {
  /** Signs a wallet out: the session becomes invalid, and within a second its sockets and event streams are closed. Other sessions of the wallet remain. Fails with UNAUTHENTICATED if the token is invalid or has expired. */
  revokeWalletSession: {
    __typename: 'RevokeWalletSessionPayload'
  }
}

export const REVOKE_WALLET_SESSION =
  'mutation RevokeWalletSession($sessionToken:String!){revokeWalletSession(input:{sessionToken:$sessionToken}){__typename}}' as TypedDocument<RevokeWalletSessionData, RevokeWalletSessionVariables>

export interface LinkedWalletsData {
  /** The authenticated account. */
  viewer: {
    /** The wallets linked to the account, in the order in which they were linked; at most 20. */
    wallets: LinkedWallet[] | null
  } | null
}

export const LINKED_WALLETS =
  'query LinkedWallets{viewer{wallets{...LinkedWallet}}}fragment LinkedWallet on LinkedWallet{linkedAt wallet{chain address}}' as TypedDocument<LinkedWalletsData, Record<string, never>>

export interface WalletLinkChallengeData {
  /** A message for a wallet to sign, for `linkWallet`. This query stores nothing. */
  walletLinkChallenge: {
    /** The fields of the message. */
    info: SignInMessage
  }
}

export const WALLET_LINK_CHALLENGE =
  'query WalletLinkChallenge{walletLinkChallenge{info{...SignInMessage}}}fragment SignInMessage on SignInInfo{domain uri version nonce issuedAt expirationTime statement resources}' as TypedDocument<WalletLinkChallengeData, Record<string, never>>

export interface LinkWalletVariables {
  payload: string
}

export interface LinkWalletData {
  /** Links the wallet that signed the message to the account. Within a second, its requests and payments count for the account. Its free balance moves to the account. Running requests are charged to the account where they began; what they leave unspent moves when the link is repeated. Fails with CONFLICT if the wallet is linked to another account or the account has 20 wallets. */
  linkWallet: WalletLink
}

export const LINK_WALLET =
  'mutation LinkWallet($payload:String!){linkWallet(input:{payload:$payload}){...WalletLink}}fragment WalletLink on LinkWalletPayload{linkedWallet{...LinkedWallet}movedUsd movedDiem}fragment LinkedWallet on LinkedWallet{linkedAt wallet{chain address}}' as TypedDocument<LinkWalletData, LinkWalletVariables>

export interface UnlinkWalletVariables {
  address: string
}

export interface UnlinkWalletData {
  /** Unlinks a wallet, which then uses its own account again. No money moves, and keys that it created remain. Fails with NOT_FOUND if the wallet is not linked to this account. */
  unlinkWallet: {
    /** The wallet and its link. */
    linkedWallet: LinkedWallet
  }
}

export const UNLINK_WALLET =
  'mutation UnlinkWallet($address:String!){unlinkWallet(input:{address:$address}){linkedWallet{...LinkedWallet}}}fragment LinkedWallet on LinkedWallet{linkedAt wallet{chain address}}' as TypedDocument<UnlinkWalletData, UnlinkWalletVariables>

export interface BalanceChangedData {
  /** The caller's balances: the current ones at once, then again within 250 ms of every change. Rapid changes are combined into one event with the newest value. */
  balanceChanged: {
    /** The account, as `Account.accountId`. */
    accountId: string
    /** One for each currency that the account has used. */
    balances: AccountBalance[]
  }
}

export const BALANCE_CHANGED =
  'subscription BalanceChanged{balanceChanged{accountId balances{...AccountBalance}}}fragment AccountBalance on Balance{currency balance held free}' as TypedDocument<BalanceChangedData, Record<string, never>>

export interface UsageRecordedVariables {
  after?: string | null | undefined
}

export interface UsageRecordedData {
  /** The account's requests as they end: each only once, in order, within 250 ms of its charge. The first event has no requests; its cursor marks the beginning of the stream. */
  usageRecorded: {
    /** The account, as `Account.accountId`. */
    accountId: string
    /** Opaque cursor. Pass the last one as `after` to continue without a gap, also after a reconnect. */
    cursor: string
    /** Whether earlier requests were left out because more than 1,000 were missed; the request log has them. */
    missed: boolean
    /** The requests in the order of their settlement, at most 100; none in the first event. */
    requests: RequestRecord[]
  }
}

export const USAGE_RECORDED =
  'subscription UsageRecorded($after:String){usageRecorded(after:$after){accountId cursor missed requests{...RequestRecord}}}fragment RequestRecord on Request{requestId admittedAt settledAt sku modelName modelType network apiKeyId outcome currency charge hold unitType lines{type units unitPrice amount}upstream retries durationMs estimated}' as TypedDocument<UsageRecordedData, UsageRecordedVariables>

export interface RateLimitExceededData {
  /** New rejected requests of the caller's account, within 250 ms. Equal ones in quick succession are combined into one event. `viewer.rateLimitLog` has the missed ones. */
  rateLimitExceeded: {
    /** The number of requests. */
    count: number
    /** The newest of them. */
    newest: LimitRefusal
  }
}

export const RATE_LIMIT_EXCEEDED =
  'subscription RateLimitExceeded{rateLimitExceeded{count newest{...LimitRefusal}}}fragment LimitRefusal on RateLimitRefusal{refusalId refusedAt apiKeyId subject tier type}' as TypedDocument<RateLimitExceededData, Record<string, never>>
