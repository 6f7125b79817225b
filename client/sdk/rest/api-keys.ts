import { pickFromOperation } from '../graphql/graphql-client.ts'
import { ROTATE_API_KEY, type RotateApiKeyData } from '../graphql/operations.ts'
import type { ApiKeyType, LimitPeriod, ModelPrivacy } from '../graphql/schema-types.ts'
import type { ApiPromise } from '../http/api-promise.ts'
import { toRefusal } from '../http/error-body.ts'
import type { ResponseInfo } from '../http/response-info.ts'
import type { Transport } from '../http/transport.ts'
import type { IdempotentRequestOptions, RequestOptions } from '../options.ts'

/** Maximum that a key may spend in one period. Null means no limit; zero blocks the currency. */
export interface ConsumptionLimits {
  usd?: number | null
  diem?: number | null
}

export interface ApiKeySettings {
  /** Up to 64 characters. */
  description: string
  consumptionLimit?: ConsumptionLimits
  limitPeriod?: LimitPeriod
  modelPrivacy?: ModelPrivacy
  /** A UTC day or a time in ISO 8601; `''` or null means never. */
  expiresAt?: string | null
}

interface ApiKeyBase {
  id: string
  apiKeyType: ApiKeyType
  description: string
  limitPeriod: LimitPeriod
  modelPrivacy: ModelPrivacy
  /** ISO 8601; null means never. */
  expiresAt: string | null
}

export interface CreatedApiKey extends ApiKeyBase {
  /** The secret. It is shown only once. */
  apiKey: string
  consumptionLimit: { usd: number | null; diem: number | null }
}

export interface UpdatedApiKey extends ApiKeyBase {
  consumptionLimits: { usd: number | null; diem: number | null }
  createdAt: string | null
  last6Chars: string
  lastUsedAt: string | null
}

export interface ApiKey extends UpdatedApiKey {
  /** Decimal strings with 4 decimals. */
  usage: { trailingSevenDays: { usd: string; diem: string } }
  currentPeriodUsage: { usd: string; diem: string }
}

/** A new key that replaces an old one. */
export type RotatedApiKey = Extract<
  RotateApiKeyData['rotateApiKey'],
  { __typename: 'RotateApiKeySuccess' }
>['apiKey'] & {
  /** The secret. It is shown only once. */
  secret: string
}

/** API keys of the account. All methods require an ADMIN key. */
export class ApiKeys {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Creates a key and returns its secret, which is shown only once. An account can create 20 keys per minute and have
   * 500 active keys.
   *
   * @example
   * const { apiKey } = await sluice.apiKeys.create({
   *   apiKeyType: 'INFERENCE',
   *   description: 'backend',
   *   consumptionLimit: { usd: 5 },
   * })
   */
  create(
    body: ApiKeySettings & { apiKeyType: ApiKeyType },
    options?: IdempotentRequestOptions,
  ): ApiPromise<CreatedApiKey> {
    const request = { method: 'POST', path: PATH, body, repeat: 'keyed', options } as const
    return this.#transport.request(request, ({ data }: { data: CreatedApiKey }) => data)
  }

  /** The active keys with their spending, newest first. */
  list(options?: RequestOptions): ApiPromise<ApiKey[]> {
    const request = { method: 'GET', path: PATH, repeat: 'safe', options } as const
    return this.#transport.request(request, ({ data }: { data: ApiKey[] }) => data)
  }

  retrieve(id: string, options?: RequestOptions): ApiPromise<ApiKey> {
    const request = { method: 'GET', path: `${PATH}/${encodeURIComponent(id)}`, repeat: 'safe', options } as const
    return this.#transport.request(request, ({ data }: { data: ApiKey }) => data)
  }

  /** Changes the given fields; the others stay. A limit of null removes that limit. */
  update(id: string, changes: Partial<ApiKeySettings>, options?: RequestOptions): ApiPromise<UpdatedApiKey> {
    // Sending the same changes twice has the same effect.
    const request = { method: 'PATCH', path: PATH, body: { id, ...changes }, repeat: 'safe', options } as const
    return this.#transport.request(request, ({ data }: { data: UpdatedApiKey }) => data)
  }

  /** Revokes a key permanently, in all processes within a second. */
  revoke(id: string, options?: RequestOptions): ApiPromise<void> {
    const request = { method: 'DELETE', path: PATH, query: { id }, repeat: 'unsafe', options } as const
    return this.#transport.request(request, () => undefined)
  }

  /**
   * Replaces an active key with a new one that has the same settings. The old key keeps working for `graceSeconds` (0
   * to 604,800). Counts as a key creation.
   */
  rotate(id: string, { graceSeconds = 0 } = {}, options?: RequestOptions): ApiPromise<RotatedApiKey> {
    const variables = { input: { id: btoa(`ApiKey:${id}`), graceSeconds } }
    const toResult = ({ rotateApiKey }: RotateApiKeyData, response: ResponseInfo): RotatedApiKey =>
      toRotated(rotateApiKey, response)
    return pickFromOperation(this.#transport, { document: ROTATE_API_KEY, variables, toResult }, options)
  }
}

function toRotated(result: RotateApiKeyData['rotateApiKey'], response: ResponseInfo): RotatedApiKey {
  switch (result.__typename) {
    case 'RotateApiKeySuccess':
      return { ...result.apiKey, secret: result.secret }
    case 'InvalidInput':
      throw toRefusal('BAD_USER_INPUT', { ...result, body: result }, response)
    case 'LimitReached':
      throw toRefusal('RATE_LIMITED', { ...result, body: result }, response)
  }
}

const PATH = '/api/v1/api_keys'
