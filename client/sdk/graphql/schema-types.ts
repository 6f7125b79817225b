/* Generated from operations.graphql and the schema by `npm run generate`. */

/** How an account was created. */
export type AccountKind = 'USER' | 'WALLET' | (string & {})

/** Tier of an account, which decides its rate limits. */
export type AccountTier = 'PARTNER' | 'STAFF' | 'STANDARD' | (string & {})

/** What a key may do. */
export type ApiKeyType = 'ADMIN' | 'INFERENCE' | (string & {})

/** A chat request to quote: either its messages or their number of tokens. */
export interface ChatQuoteInput {
  /** Number of choices (`n`). */
  choices?: number
  /** Maximum tokens of one choice; if absent, the model's maximum. */
  maxTokens?: number | null | undefined
  /** The messages, whose tokens are counted. Requires a credential. */
  messages?: readonly ChatQuoteMessage[] | null | undefined
  /** Id, trait or alias of a text model. */
  model: string
  /** Number of tokens of the messages, instead of `messages`. */
  promptTokens?: number | null | undefined
}

/** A message of a chat request to quote. */
export interface ChatQuoteMessage {
  /** The text of the message. */
  content: string
  /** `system`, `user`, `assistant` and so on. */
  role: string
}

/** The currency that pays for a request. */
export type Currency = 'DIEM' | 'USD' | (string & {})

/** Quality of an image, for models with quality levels. */
export type ImageQuality = 'HIGH' | 'LOW' | 'MEDIUM' | (string & {})

/** Images to quote. */
export interface ImageQuoteInput {
  /** The number of images. */
  count?: number
  /** Id, trait or alias of an image model. */
  model: string
  /** For models whose price depends on it; the model's default if absent. */
  quality?: ImageQuality | null | undefined
  /** For models whose price depends on it; the model's default if absent. */
  resolution?: string | null | undefined
}

/** The reason for a transfer. */
export type LedgerTransferKind = 'CHARGE' | 'CORRECTION' | 'DIEM_ALLOWANCE' | 'DIEM_EXPIRY' | 'GRANT' | 'REFUND' | 'TOP_UP' | 'TRANSFER' | (string & {})

/** When the spending of a key is reset to zero. */
export type LimitPeriod = 'EPOCH' | 'LIFETIME' | 'MONTH' | (string & {})

/** Which models a key may call. */
export type ModelPrivacy = 'ALL' | 'PRIVATE_ONLY' | 'PRIVATE_TEXT' | (string & {})

/** The request to quote. Set exactly one field. */
export type QuoteInput =
  | { chat: ChatQuoteInput; image?: never; rpc?: never }
  | { image: ImageQuoteInput; chat?: never; rpc?: never }
  | { rpc: RpcQuoteInput; chat?: never; image?: never }

/** Which requests a limit counts together. */
export type RateLimitScope = 'API_KEY' | 'GLOBAL' | 'USER' | (string & {})

/** The kind of a limit. */
export type RateLimitType = 'FAILED_REQUESTS' | 'RPD' | 'RPM' | 'TPM' | (string & {})

/** Which requests to list. An absent filter matches everything; several filters must all match. Up to 100 values each. */
export interface RequestFilterInput {
  /** Keys, as `ApiKey.apiKeyId`, including revoked ones. */
  apiKeyIds?: readonly string[] | null | undefined
  /** Admitted at or after this time; 90 days ago if absent. */
  from?: string | null | undefined
  /** Outcomes of the requests. */
  outcomes?: readonly RequestOutcome[] | null | undefined
  /** Model ids and `crypto-rpc-<network>`. */
  skus?: readonly string[] | null | undefined
  /** Admitted before this time; now if absent. */
  to?: string | null | undefined
}

/** The kind of model that a request called. */
export type RequestModelType = 'ASR' | 'IMAGE' | 'LLM' | 'TTS' | 'VIDEO' | (string & {})

/** How a request ended. */
export type RequestOutcome = 'CLIENT_DISCONNECTED' | 'COMPLETED' | 'CUT_BY_BALANCE' | 'CUT_BY_KEY' | 'RELEASED' | 'RPC_ERROR' | 'UPSTREAM_FAILED' | (string & {})

/** The key to replace. */
export interface RotateApiKeyInput {
  /** How long the old key keeps working, up to 604800 (7 days); 0 revokes it at once. */
  graceSeconds?: number
  /** `ApiKey.id` of the key. */
  id: string
}

/** A JSON-RPC body to quote. */
export interface RpcQuoteInput {
  /** The body as text: a request object, or an array of at most 100. */
  body: string
  /** The `slug` of a network. */
  network: string
}

/** The dimensions by which usage can be grouped. */
export type UsageDimension = 'API_KEY' | 'CURRENCY' | 'DAY' | 'HOUR' | 'METHOD' | 'MODEL_TYPE' | 'MONTH' | 'NETWORK' | 'SKU' | 'UNIT_TYPE' | 'WEEK' | (string & {})

/** Filter of a usage report. An absent list matches everything; several lists must all match. Up to 100 values each. */
export interface UsageFilterInput {
  /** Keys of the account, as `ApiKey.apiKeyId`, including revoked ones. */
  apiKeyIds?: readonly string[] | null | undefined
  /** The currency of the charge. */
  currencies?: readonly Currency[] | null | undefined
  /** JSON-RPC methods, or kinds of lines of models, such as `Input`. */
  methods?: readonly string[] | null | undefined
  /** The kinds of models. */
  modelTypes?: readonly RequestModelType[] | null | undefined
  /** Slugs of RPC networks. */
  networks?: readonly string[] | null | undefined
  /** Model ids and `crypto-rpc-<network>`. */
  skus?: readonly string[] | null | undefined
  /** The unit of `units`. */
  unitTypes?: readonly UsageUnitType[] | null | undefined
}

/** Which usage to report, and how to group it. */
export interface UsageInput {
  /** Filter of the report; everything if absent. */
  filter?: UsageFilterInput | null | undefined
  /** First day; six days before today if `from` and `to` are absent. */
  from?: string | null | undefined
  /** One row for each combination of these dimensions. At most one may be a unit of time. Without any, the report has one row. */
  groupBy?: readonly UsageDimension[]
  /** Order of the rows. If there are more than 1,000, only the first 1,000 are returned. */
  orderBy?: UsageOrder
  /** IANA name of the time zone of days and hours, such as `Europe/Berlin`. */
  timeZone?: string
  /** Last day, inclusive; at most 90 days from the first. */
  to?: string | null | undefined
}

/** Order of usage rows. */
export type UsageOrder = 'AMOUNT' | 'TIME' | (string & {})

/** Kinds of units. */
export type UsageUnitType = 'CHARS' | 'CREDITS' | 'IMAGES' | 'MINUTES' | 'SECONDS' | 'TOKENS' | (string & {})

/** The chain of a wallet. */
export type WalletChain = 'EVM' | 'SOLANA' | (string & {})
