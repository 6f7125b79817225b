import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { AccountTier } from '../caller.ts'
import type { LimitOverrides } from '../limit-overrides.ts'

export interface AccountLimitOverrides {
  tier: AccountTier
  account: LimitOverrides | null
  keys: { keyId: string; limits: LimitOverrides }[]
}

/** Limits set by operators, stored in the rows of their accounts and keys. */
export class LimitOverrideRepository {
  readonly #db: Kysely<Database>

  constructor(db: Kysely<Database>) {
    this.#db = db
  }

  async find(accountId: string): Promise<AccountLimitOverrides | undefined> {
    const account = await this.#db
      .selectFrom('accounts')
      .select(['tier', 'limit_overrides'])
      .where('account_id', '=', accountId)
      .executeTakeFirst()
    if (account === undefined) return undefined
    const keys = await this.#db
      .selectFrom('api_keys')
      .select(['key_id', 'limit_overrides'])
      .where('account_id', '=', accountId)
      .where('limit_overrides', 'is not', null)
      .where('revoked_at', 'is', null)
      .orderBy('key_id', 'desc')
      .execute()
    return {
      tier: account.tier,
      account: account.limit_overrides,
      keys: keys.flatMap(({ key_id: keyId, limit_overrides: limits }) => (limits === null ? [] : [{ keyId, limits }])),
    }
  }

  /** False if the account does not exist; null removes the limits. */
  async setOfAccount(accountId: string, limits: LimitOverrides | null): Promise<boolean> {
    const { numUpdatedRows } = await this.#db
      .updateTable('accounts')
      .set({ limit_overrides: toJson(limits) })
      .where('account_id', '=', accountId)
      .executeTakeFirst()
    return numUpdatedRows > 0n
  }

  /** False if the account has no such active key. */
  async setOfKey(accountId: string, keyId: string, limits: LimitOverrides | null): Promise<boolean> {
    const { numUpdatedRows } = await this.#db
      .updateTable('api_keys')
      .set({ limit_overrides: toJson(limits) })
      .where('account_id', '=', accountId)
      .where('key_id', '=', keyId)
      .where('revoked_at', 'is', null)
      .executeTakeFirst()
    return numUpdatedRows > 0n
  }
}

function toJson(limits: LimitOverrides | null): string | null {
  return limits === null ? null : JSON.stringify(limits)
}
