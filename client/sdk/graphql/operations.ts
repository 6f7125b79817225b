/* Generated from operations.graphql and the schema by `npm run generate`. */
import type { AccountBalance, AccountDetails, LedgerEntry, RequestRecord, LimitFill, LimitRefusal, UsageCell, LinkedWallet, WalletLink, SignInMessage, PageEnd } from './records.ts'
import type { ApiKeyType, ImageQuality, LimitPeriod, ModelPrivacy, QuoteInput, RequestFilterInput, RotateApiKeyInput, UsageInput } from './schema-types.ts'
import type { TypedDocument } from './typed-document.ts'

export interface AccountData {
  /** The account of whoever asks. */
  viewer: AccountDetails | null
}

export const ACCOUNT =
  'query Account{viewer{...AccountDetails}}fragment AccountDetails on Account{accountId name kind tier balances{...AccountBalance}}fragment AccountBalance on Balance{currency balance held free}' as TypedDocument<AccountData, Record<string, never>>

export interface QuoteVariables {
  input: QuoteInput
}

export interface QuoteData {
  /** The price of a request before it is sent, checked as the request would be. Needs no credential, but for messages that must be counted; with a key, its models are those that may be quoted. */
  quote: {
    /** What is set aside before it runs, which the free balance must cover; the rest is freed when it ends. */
    hold: string
    /** What it is expected to cost; of a chat with as many tokens as the details say. */
    price: string
    /** The details of a chat request. */
    chat: {
      /** The model that would serve it. */
      modelId: string
      /** Tokens of the prompt. */
      promptTokens: number
      /** Tokens of all answers together that `price` is for: the limit that was asked for, or an ordinary answer. */
      completionTokens: number
    } | null
    /** The details of images. */
    image: {
      /** The model that would serve it. */
      modelId: string
      /** How many. */
      count: number
      /** Of one image. */
      unitPrice: string
      /** The one that is priced; null where the price does not depend on it. */
      resolution: string | null
      /** The one that is priced; null where the price does not depend on it. */
      quality: ImageQuality | null
    } | null
    /** The details of a JSON-RPC body. */
    rpc: {
      /** All calls together, if each of them succeeds. */
      credits: number
      /** One for each request, in order. */
      calls: {
        /** As it stands in a request. */
        name: string
        /** Base credits of the network times the tier. */
        credits: number
        /** What a call costs in USD. */
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
  /** The account of whoever asks. */
  viewer: {
    /** Every posting of both currencies, newest first. */
    ledger: {
      /** The items without their cursors. */
      nodes: LedgerEntry[]
      /** Where this page lies in the whole list. */
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
  /** The account of whoever asks. */
  viewer: {
    /** The log of requests that have ended, newest first, failed ones included. A page looks back 14 days and, with a filter, at 5,000 requests; it may be short and still have a next one, so go by `hasNextPage`. */
    requests: {
      /** The items without their cursors. */
      nodes: RequestRecord[]
      /** Where this page lies in the whole list. */
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
  /** The account of whoever asks. */
  viewer: {
    /** The receipt of one request; null for an unknown one and while it runs. */
    request: RequestRecord & {
      /** Its `Idempotency-Key`, known for 24 hours; null where it had none. */
      idempotency: {
        /** As the client sent it. */
        key: string
        /** Repeats so far that got the kept answer and cost nothing. */
        replays: number
        /** Until when a repeat gets that answer. */
        keptUntil: string
      } | null
      /** The posting that charged it; null when it cost nothing. */
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
  /** The account of whoever asks. */
  viewer: {
    /** Exact usage by time, network, method, key and more. Without an input: the last 7 days in one row. */
    usage: {
      /** First day. */
      from: string
      /** Last day, included. */
      to: string
      /** Whose days they are. */
      timeZone: string
      /** Whether there are more than 1,000 rows: ask for fewer days or dimensions to see them. */
      truncated: boolean
      /** The sum of all rows, those beyond the 1,000 included. */
      totals: {
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
      /** In the order asked for, then by the dimensions; at most 1,000. */
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
  /** The account of whoever asks. */
  viewer: {
    /** The limits of this credential: those of each model that it may use, then those of endpoints. */
    rateLimits: {
      /** The items without their cursors. */
      nodes: LimitFill[]
      /** Where this page lies in the whole list. */
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
  /** The account of whoever asks. */
  viewer: {
    /** Requests that exceeded a limit, newest first. Those of other processes appear within a second; of a flood at least the 50 newest are kept, for 30 days at most. */
    rateLimitLog: {
      /** The items without their cursors. */
      nodes: LimitRefusal[]
      /** Where this page lies in the whole list. */
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
  /** Replaces an active API key by a new one with the same settings. Counts as a creation. */
  rotateApiKey: ({
    __typename: 'InvalidInput'
    /** What is wrong and how to put it right, in one or two sentences. */
    message: string
    /** The fields at fault. */
    fields: {
      /** The field, such as `limits.usd`. */
      path: string
      /** Each fault of the field. */
      messages: string[]
    }[]
  } | {
    __typename: 'LimitReached'
    /** What is wrong and how to put it right, in one or two sentences. */
    message: string
    /** When to try again; null when waiting does not help. */
    retryAfterSeconds: number | null
  } | {
    __typename: 'RotateApiKeySuccess'
    /** The secret to send as `Authorization: Bearer <secret>`. It is never shown again. */
    secret: string
    /** The new key. */
    apiKey: {
      /** The id by which the REST API knows the key. */
      apiKeyId: string
      /** What the key may do. */
      type: ApiKeyType
      /** What the key is for; up to 64 characters. */
      description: string
      /** The end of the secret, to tell keys apart. */
      last6Chars: string
      /** When its spending starts again from zero. */
      limitPeriod: LimitPeriod
      /** Which models it may call. */
      modelPrivacy: ModelPrivacy
      /** When it was made. */
      createdAt: string
      /** When it stops working; null is never. */
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
  /** Signs a wallet in by one signed message, which is taken once and within 5 minutes. Fails with UNAUTHENTICATED, and the reason of the refusal in `extensions.reason`. */
  signInWithWallet: {
    /** For `Authorization: Bearer`, here and on sockets; it reads the account and changes nothing. */
    sessionToken: string
    /** When the session and its sockets end. */
    expiresAt: string
  }
}

export const SIGN_IN_WITH_WALLET =
  'mutation SignInWithWallet($payload:String!){signInWithWallet(input:{payload:$payload}){sessionToken expiresAt}}' as TypedDocument<SignInWithWalletData, SignInWithWalletVariables>

export interface RevokeWalletSessionVariables {
  sessionToken: string
}

export interface RevokeWalletSessionData {
  /** Signs a wallet out: the session opens nothing from then on, and within a second its sockets and event streams are closed. Other sessions of the wallet go on. Fails with UNAUTHENTICATED for a token that is not valid or has ended by itself. */
  revokeWalletSession: {
    __typename: 'RevokeWalletSessionPayload'
  }
}

export const REVOKE_WALLET_SESSION =
  'mutation RevokeWalletSession($sessionToken:String!){revokeWalletSession(input:{sessionToken:$sessionToken}){__typename}}' as TypedDocument<RevokeWalletSessionData, RevokeWalletSessionVariables>

export interface LinkedWalletsData {
  /** The account of whoever asks. */
  viewer: {
    /** The wallets that are linked to the account, at most 20, first linked first. */
    wallets: LinkedWallet[] | null
  } | null
}

export const LINKED_WALLETS =
  'query LinkedWallets{viewer{wallets{...LinkedWallet}}}fragment LinkedWallet on LinkedWallet{linkedAt wallet{chain address}}' as TypedDocument<LinkedWalletsData, Record<string, never>>

export interface WalletLinkChallengeData {
  /** A message for a wallet to sign, for `linkWallet`. Nothing is stored by asking. */
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
  /** Links the wallet that signed the message to the account. From then on, within a second, its requests and payments are those of the account. What it owns moves there; requests that run are charged where they began, and what they leave moves when the link is repeated. Fails with CONFLICT when the wallet is linked elsewhere or the account has 20. */
  linkWallet: WalletLink
}

export const LINK_WALLET =
  'mutation LinkWallet($payload:String!){linkWallet(input:{payload:$payload}){...WalletLink}}fragment WalletLink on LinkWalletPayload{linkedWallet{...LinkedWallet}movedUsd movedDiem}fragment LinkedWallet on LinkedWallet{linkedAt wallet{chain address}}' as TypedDocument<LinkWalletData, LinkWalletVariables>

export interface UnlinkWalletVariables {
  address: string
}

export interface UnlinkWalletData {
  /** Lets the wallet use its own account again. No money moves, and keys that it made stay. Fails with NOT_FOUND for a wallet that is not linked to this account. */
  unlinkWallet: {
    /** The wallet and its link. */
    linkedWallet: LinkedWallet
  }
}

export const UNLINK_WALLET =
  'mutation UnlinkWallet($address:String!){unlinkWallet(input:{address:$address}){linkedWallet{...LinkedWallet}}}fragment LinkedWallet on LinkedWallet{linkedAt wallet{chain address}}' as TypedDocument<UnlinkWalletData, UnlinkWalletVariables>

export interface BalanceChangedData {
  /** The caller's balances: the current ones at once, then again within 250 ms of every change. Changes in quick succession arrive as one event with the newest value. */
  balanceChanged: {
    /** The account, as `Account.accountId`. */
    accountId: string
    /** One for each currency that the account has had. */
    balances: AccountBalance[]
  }
}

export const BALANCE_CHANGED =
  'subscription BalanceChanged{balanceChanged{accountId balances{...AccountBalance}}}fragment AccountBalance on Balance{currency balance held free}' as TypedDocument<BalanceChangedData, Record<string, never>>

export interface UsageRecordedVariables {
  after?: string | null | undefined
}

export interface UsageRecordedData {
  /** The account's requests as they end: each once, in order, within 250 ms of its charge. The first event has none and says where the stream begins. */
  usageRecorded: {
    /** The account, as `Account.accountId`. */
    accountId: string
    /** Opaque. `after` with the last one continues without a gap, after a reconnect too. */
    cursor: string
    /** Whether requests before these were left out, since more than 1,000 were missed; the log has them. */
    missed: boolean
    /** In the order of their settlement, at most 100; none in the first event. */
    requests: RequestRecord[]
  }
}

export const USAGE_RECORDED =
  'subscription UsageRecorded($after:String){usageRecorded(after:$after){accountId cursor missed requests{...RequestRecord}}}fragment RequestRecord on Request{requestId admittedAt settledAt sku modelName modelType network apiKeyId outcome currency charge hold unitType lines{type units unitPrice amount}upstream retries durationMs estimated}' as TypedDocument<UsageRecordedData, UsageRecordedVariables>

export interface RateLimitExceededData {
  /** Refused requests of the caller's account, from now on, within 250 ms. Equal ones in quick succession arrive as one event; `viewer.rateLimitLog` has what was missed. */
  rateLimitExceeded: {
    /** How many. */
    count: number
    /** The newest of them. */
    newest: LimitRefusal
  }
}

export const RATE_LIMIT_EXCEEDED =
  'subscription RateLimitExceeded{rateLimitExceeded{count newest{...LimitRefusal}}}fragment LimitRefusal on RateLimitRefusal{refusalId refusedAt apiKeyId subject tier type}' as TypedDocument<RateLimitExceededData, Record<string, never>>
