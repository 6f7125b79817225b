/* Generated from operations.graphql and the schema by `npm run generate`. */

/** How an account came to be. */
export type AccountKind = 'USER' | 'WALLET' | (string & {})

/** Which rate limits apply to an account. */
export type AccountTier = 'PARTNER' | 'STAFF' | 'STANDARD' | (string & {})

/** What a key may do. */
export type ApiKeyType = 'ADMIN' | 'INFERENCE' | (string & {})

/** A chat request that might be sent: its messages, or how many tokens they have. */
export interface ChatQuoteInput {
  /** Answers asked for (`n`). */
  choices?: number
  /** Most tokens of one answer; absent is up to what the model can. */
  maxTokens?: number | null | undefined
  /** Its messages, which are counted. Needs a credential. */
  messages?: readonly ChatQuoteMessage[] | null | undefined
  /** Id, trait or mapped name of a text model. */
  model: string
  /** Tokens of its messages, in their place. */
  promptTokens?: number | null | undefined
}

/** A message of a chat that might be sent. */
export interface ChatQuoteMessage {
  /** Its text. */
  content: string
  /** `system`, `user`, `assistant` and so on. */
  role: string
}

/** What a request is paid in. */
export type Currency = 'DIEM' | 'USD' | (string & {})

/** How good an image is made, for models that have levels. */
export type ImageQuality = 'HIGH' | 'LOW' | 'MEDIUM' | (string & {})

/** Images that might be made. */
export interface ImageQuoteInput {
  /** How many. */
  count?: number
  /** Id, trait or mapped name of an image model. */
  model: string
  /** For models that are priced by it; absent is the model's default. */
  quality?: ImageQuality | null | undefined
  /** For models that are priced by it; absent is the model's default. */
  resolution?: string | null | undefined
}

/** Why money moved. */
export type LedgerTransferKind = 'CHARGE' | 'CORRECTION' | 'DIEM_ALLOWANCE' | 'DIEM_EXPIRY' | 'GRANT' | 'REFUND' | 'TOP_UP' | 'TRANSFER' | (string & {})

/** When the spending of a key starts again from zero. */
export type LimitPeriod = 'EPOCH' | 'LIFETIME' | 'MONTH' | (string & {})

/** Which models a key may call. */
export type ModelPrivacy = 'ALL' | 'PRIVATE_ONLY' | 'PRIVATE_TEXT' | (string & {})

/** What to quote: exactly one of its fields. */
export type QuoteInput =
  | { chat: ChatQuoteInput; image?: never; rpc?: never }
  | { image: ImageQuoteInput; chat?: never; rpc?: never }
  | { rpc: RpcQuoteInput; chat?: never; image?: never }

/** Whose requests a limit counts together. */
export type RateLimitScope = 'API_KEY' | 'GLOBAL' | 'USER' | (string & {})

/** What is limited. */
export type RateLimitType = 'FAILED_REQUESTS' | 'RPD' | 'RPM' | 'TPM' | (string & {})

/** Which requests are listed. An absent list is everything; several must all match; up to 100 values each. */
export interface RequestFilterInput {
  /** Keys, as `ApiKey.apiKeyId`; revoked ones as well. */
  apiKeyIds?: readonly string[] | null | undefined
  /** Admitted at or after; absent: 90 days back. */
  from?: string | null | undefined
  /** How they ended. */
  outcomes?: readonly RequestOutcome[] | null | undefined
  /** Model ids and `crypto-rpc-<network>`. */
  skus?: readonly string[] | null | undefined
  /** Admitted before; absent: now. */
  to?: string | null | undefined
}

/** What kind of model a request called. */
export type RequestModelType = 'ASR' | 'IMAGE' | 'LLM' | 'TTS' | 'VIDEO' | (string & {})

/** How a request ended. */
export type RequestOutcome = 'CLIENT_DISCONNECTED' | 'COMPLETED' | 'CUT_BY_BALANCE' | 'CUT_BY_KEY' | 'RELEASED' | 'RPC_ERROR' | 'UPSTREAM_FAILED' | (string & {})

/** The key to replace. */
export interface RotateApiKeyInput {
  /** How long the old key goes on working, up to 604800 (7 days); 0 ends it at once. */
  graceSeconds?: number
  /** `ApiKey.id` of the key. */
  id: string
}

/** A JSON-RPC body that might be sent. */
export interface RpcQuoteInput {
  /** The body as text: a request object, or an array of at most 100. */
  body: string
  /** The `slug` of a network. */
  network: string
}

/** What usage can be split by. */
export type UsageDimension = 'API_KEY' | 'CURRENCY' | 'DAY' | 'HOUR' | 'METHOD' | 'MODEL_TYPE' | 'MONTH' | 'NETWORK' | 'SKU' | 'UNIT_TYPE' | 'WEEK' | (string & {})

/** What a usage report is limited to. An absent list is everything; several lists must all match; up to 100 values each. */
export interface UsageFilterInput {
  /** Keys of the account, as `ApiKey.apiKeyId`; revoked ones as well. */
  apiKeyIds?: readonly string[] | null | undefined
  /** What was paid in. */
  currencies?: readonly Currency[] | null | undefined
  /** JSON-RPC methods, or kinds of lines of models, such as `Input`. */
  methods?: readonly string[] | null | undefined
  /** What kind of model was called. */
  modelTypes?: readonly RequestModelType[] | null | undefined
  /** Slugs of RPC networks. */
  networks?: readonly string[] | null | undefined
  /** Model ids and `crypto-rpc-<network>`. */
  skus?: readonly string[] | null | undefined
  /** What units are counted in. */
  unitTypes?: readonly UsageUnitType[] | null | undefined
}

/** Which usage to report, and how to split it. */
export interface UsageInput {
  /** What the report is limited to; absent is everything. */
  filter?: UsageFilterInput | null | undefined
  /** First day. Absent together with `to`: six days before today. */
  from?: string | null | undefined
  /** One row for each combination of these, at most one of them a unit of time; none is one row for everything. */
  groupBy?: readonly UsageDimension[]
  /** Which rows come first, and so which are given when there are more than 1,000. */
  orderBy?: UsageOrder
  /** Whose days and hours: the IANA name of a time zone, such as `Europe/Berlin`. */
  timeZone?: string
  /** Last day, included; at most 90 days from the first. */
  to?: string | null | undefined
}

/** Which rows of usage come first. */
export type UsageOrder = 'AMOUNT' | 'TIME' | (string & {})

/** What the units of a service are. */
export type UsageUnitType = 'CHARS' | 'CREDITS' | 'IMAGES' | 'MINUTES' | 'SECONDS' | 'TOKENS' | (string & {})

/** What kind of key a wallet has. */
export type WalletChain = 'EVM' | 'SOLANA' | (string & {})
