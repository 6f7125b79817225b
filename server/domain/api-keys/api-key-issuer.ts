import type { Clock } from '../clock.ts'
import type { IdSource } from '../ids.ts'
import type { ApiKey } from './api-key.ts'
import { createApiKeySecret, hashApiKeySecret } from './api-key-secret.ts'

const SHOWN_CHARACTERS = 6

export type ApiKeySettings = Pick<
  ApiKey,
  'type' | 'description' | 'limits' | 'limitPeriod' | 'modelPrivacy' | 'expiresAt'
>

/** A key and its secret, which exists only here and in the one response that shows it. */
export interface IssuedApiKey {
  key: ApiKey
  secret: string
}

export interface ApiKeyDraft extends IssuedApiKey {
  secretHash: string
}

export class ApiKeyIssuer {
  readonly #ids: IdSource
  readonly #clock: Clock
  readonly #prefix: string
  readonly #pepper: string

  /**
   * `prefix` comes from `toKeyPrefix`; `pepper` keys the hash, so a stolen table cannot be searched for known secrets.
   */
  constructor(deps: { ids: IdSource; clock: Clock; prefix: string; pepper: string }) {
    this.#ids = deps.ids
    this.#clock = deps.clock
    this.#prefix = deps.prefix
    this.#pepper = deps.pepper
  }

  /** Creates a key, which is valid once its draft is stored. */
  issue(accountId: string, settings: ApiKeySettings): ApiKeyDraft {
    const secret = createApiKeySecret(settings.type, { prefix: this.#prefix, ids: this.#ids })
    const key: ApiKey = {
      ...settings,
      id: this.#ids.uuid(),
      accountId,
      last6Chars: secret.slice(-SHOWN_CHARACTERS),
      createdAt: this.#clock.now(),
      lastUsedAt: null,
      revokedAt: null,
    }
    return { key, secret, secretHash: hashApiKeySecret(secret, this.#pepper) }
  }
}
