import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { AccountRow } from '../../db/tables/accounts-table.ts'
import type { ApiKeyDraft } from '../api-keys/api-key-issuer.ts'
import { insertApiKey } from '../api-keys/api-key-repository.ts'
import type { AccountTier } from '../auth/caller.ts'
import type { Account } from './account.ts'

export class AccountRepository {
  readonly #db: Kysely<Database>

  constructor(db: Kysely<Database>) {
    this.#db = db
  }

  /** Stores an account, its empty USD balance and its first key, all or nothing. */
  async insert(account: Account, firstKey: ApiKeyDraft): Promise<void> {
    await this.#db.transaction().execute(async (trx) => {
      await trx
        .insertInto('accounts')
        .values({
          account_id: account.id,
          name: account.name,
          kind: account.kind,
          tier: account.tier,
          stake_diem_nano: account.stakeDiemNano,
          wallet_chain: account.wallet?.chain ?? null,
          wallet_address: account.wallet?.address ?? null,
          created_at: account.createdAt,
        })
        .execute()
      await trx
        .insertInto('balances')
        .values({
          account_id: account.id,
          currency: 'usd',
          balance_nano: 0n,
          held_nano: 0n,
          sequence: 0n,
          epoch_day: null,
        })
        .execute()
      await insertApiKey(trx, firstKey)
    })
  }

  async find(accountId: string): Promise<Account | undefined> {
    const row = await this.#db.selectFrom('accounts').selectAll().where('account_id', '=', accountId).executeTakeFirst()
    return row === undefined ? undefined : toAccount(row)
  }

  /** Newest first: account ids are time-ordered. */
  async list(page: { limit: number; beforeAccountId: string | undefined }): Promise<Account[]> {
    let query = this.#db.selectFrom('accounts').selectAll().orderBy('account_id', 'desc').limit(page.limit)
    if (page.beforeAccountId !== undefined) query = query.where('account_id', '<', page.beforeAccountId)
    return (await query.execute()).map(toAccount)
  }

  async setTier(accountId: string, tier: AccountTier): Promise<Account | undefined> {
    const row = await this.#db
      .updateTable('accounts')
      .set({ tier })
      .where('account_id', '=', accountId)
      .returningAll()
      .executeTakeFirst()
    return row === undefined ? undefined : toAccount(row)
  }

  /** False when there is no such account. */
  async setStake(accountId: string, stakeDiemNano: bigint): Promise<boolean> {
    const { numUpdatedRows } = await this.#db
      .updateTable('accounts')
      .set({ stake_diem_nano: stakeDiemNano })
      .where('account_id', '=', accountId)
      .executeTakeFirst()
    return numUpdatedRows > 0n
  }
}

function toAccount(row: AccountRow): Account {
  const { wallet_chain: chain, wallet_address: address } = row
  return {
    id: row.account_id,
    name: row.name,
    kind: row.kind,
    tier: row.tier,
    stakeDiemNano: row.stake_diem_nano,
    wallet: chain === null || address === null ? null : { chain, address },
    createdAt: row.created_at,
  }
}
