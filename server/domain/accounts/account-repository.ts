import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { AccountRow } from '../../db/tables/accounts-table.ts'
import type { ApiKeyDraft } from '../api-keys/api-key-issuer.ts'
import { insertApiKey } from '../api-keys/api-key-repository.ts'
import type { Account } from './account.ts'
import type { AccountFilter } from './inputs.ts'

export type AccountUpdate = Partial<Pick<Account, 'name' | 'tier' | 'suspension'>>

export interface AccountPosition {
  createdAt: Date
  accountId: string
}

export class AccountRepository {
  readonly #db: Kysely<Database>
  readonly #reports: Kysely<Database>

  constructor(db: Kysely<Database>, reports = db) {
    this.#db = db
    this.#reports = reports
  }

  /** Stores an account, its empty USD balance and its first key in one transaction. */
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

  /** Newest first; ids cannot be used for the order, because those of wallets' accounts are not time-ordered. */
  async list(filter: AccountFilter, page: { limit: number; before: AccountPosition | undefined }): Promise<Account[]> {
    let query = this.#reports
      .selectFrom('accounts')
      .selectAll()
      .orderBy('created_at', 'desc')
      .orderBy('account_id', 'desc')
      .limit(page.limit)
    const { before } = page
    if (before !== undefined) {
      query = query.where(({ eb, refTuple, tuple }) =>
        eb(refTuple('created_at', 'account_id'), '<', tuple(before.createdAt, before.accountId)),
      )
    }
    if (filter.search !== undefined) query = query.where('name', 'ilike', `%${escapePattern(filter.search)}%`)
    if (filter.kind !== undefined) query = query.where('kind', '=', filter.kind)
    if (filter.tier !== undefined) query = query.where('tier', '=', filter.tier)
    if (filter.suspended !== undefined) query = query.where('suspended_at', filter.suspended ? 'is not' : 'is', null)
    if (filter.wallet !== undefined) {
      const { chain, address } = filter.wallet
      const links = this.#reports
        .selectFrom('wallet_links')
        .select('account_id')
        .where('wallet_chain', '=', chain)
        .where('wallet_address', '=', address)
      query = query.where(({ and, eb, or }) =>
        or([and({ wallet_chain: chain, wallet_address: address }), eb('account_id', 'in', links)]),
      )
    }
    if (filter.keyEndsWith !== undefined) {
      const keys = this.#reports.selectFrom('api_keys').where('last6_chars', '=', filter.keyEndsWith)
      query = query.where('account_id', 'in', keys.select('account_id'))
    }
    return (await query.execute()).map(toAccount)
  }

  /** Undefined if the account does not exist. */
  async update(accountId: string, { name, tier, suspension }: AccountUpdate): Promise<Account | undefined> {
    const row = await this.#db
      .updateTable('accounts')
      .set({
        ...(name === undefined ? {} : { name }),
        ...(tier === undefined ? {} : { tier }),
        ...(suspension === undefined
          ? {}
          : { suspended_at: suspension?.since ?? null, suspended_reason: suspension?.reason ?? null }),
      })
      .where('account_id', '=', accountId)
      .returningAll()
      .executeTakeFirst()
    return row === undefined ? undefined : toAccount(row)
  }

  /** False if the account does not exist. */
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
    suspension:
      row.suspended_at === null ? null : { since: row.suspended_at, reason: row.suspended_reason ?? 'not stated' },
  }
}

function escapePattern(text: string): string {
  return text.replaceAll(/[\\%_]/g, String.raw`\$&`)
}
