import { type Kysely, sql } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { AccountTier } from '../caller.ts'
import type { LimitOverrides } from '../limit-overrides.ts'
import { accountIdOf } from './wallet-account-id.ts'
import type { WalletAddress } from './wallet-address.ts'

/**
 * Returns the account that a wallet uses: its linked account, or its own, which is created if missing. Until the
 * transaction ends the wallet can neither be linked nor unlinked, so that a link misses no credit.
 */
export async function openWalletAccount(db: Kysely<Database>, wallet: WalletAddress, now: Date): Promise<string> {
  const { rows } = await sql<{ accountId: string }>`
    select open_wallet_account(${wallet.chain}, ${wallet.address}, ${accountIdOf(wallet)}::uuid, ${now}) as "accountId"`.execute(
    db,
  )
  return rows[0]?.accountId ?? accountIdOf(wallet)
}

export interface WalletAccountSettings {
  accountId: string
  tier: AccountTier
  suspended: boolean
  /** Null if the operator set no limits. */
  limitOverrides: LimitOverrides | null
}

export class WalletAccountRepository {
  readonly #db: Kysely<Database>

  constructor(db: Kysely<Database>) {
    this.#db = db
  }

  /** The account that the wallet uses; undefined if that is its own and has no row. */
  async find({ chain, address }: WalletAddress): Promise<WalletAccountSettings | undefined> {
    const row = await this.#db
      .selectFrom('accounts')
      .select(['account_id', 'tier', 'suspended_at', 'limit_overrides'])
      .where('account_id', '=', ({ fn, selectFrom, val }) =>
        fn.coalesce(
          selectFrom('wallet_links')
            .select('wallet_links.account_id')
            .where('wallet_chain', '=', chain)
            .where('wallet_address', '=', address),
          val(accountIdOf({ chain, address })),
        ),
      )
      .executeTakeFirst()
    if (row === undefined) return undefined
    const { account_id: accountId, tier, limit_overrides: limitOverrides } = row
    return { accountId, tier, suspended: row.suspended_at !== null, limitOverrides }
  }

  /** Stores the wallet's own account unless the wallet is linked to another one. */
  async open(wallet: WalletAddress, now: Date): Promise<void> {
    await openWalletAccount(this.#db, wallet, now)
  }

  /** The daily DIEM set by the operator, in nano-DIEM. */
  async operatorStakeOf(accountId: string): Promise<bigint> {
    const row = await this.#db
      .selectFrom('accounts')
      .select('stake_diem_nano')
      .where('account_id', '=', accountId)
      .executeTakeFirst()
    return row?.stake_diem_nano ?? 0n
  }
}
