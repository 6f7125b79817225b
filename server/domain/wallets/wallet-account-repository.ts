import { type Kysely, sql } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { AccountTier } from '../auth/caller.ts'
import type { LimitOverrides } from '../rate-limits/limit-overrides.ts'
import type { WalletAddress } from './wallet-address.ts'
import { accountIdOf } from './wallet-account-id.ts'

/**
 * Stores a wallet's account and its empty USD balance unless they stand already, and returns the account's id. To be
 * called in the transaction that posts a credit: nothing else makes a row for a wallet.
 */
export async function ensureWalletAccount(
  trx: Kysely<Database>,
  wallet: WalletAddress,
  createdAt: Date,
): Promise<string> {
  const account_id = accountIdOf(wallet)
  await trx
    .insertInto('accounts')
    .values({
      account_id,
      name: wallet.address,
      kind: 'wallet',
      tier: 'standard',
      stake_diem_nano: 0n,
      wallet_chain: wallet.chain,
      wallet_address: wallet.address,
      created_at: createdAt,
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  await trx
    .insertInto('balances')
    .values({ account_id, currency: 'usd', balance_nano: 0n, held_nano: 0n, sequence: 0n, epoch_day: null })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  return account_id
}

/**
 * The account that a wallet uses: the one that it is linked to, or its own, which is stored when it is missing. Until the
 * transaction ends the wallet can neither be linked nor unlinked, so that no credit comes too late for a link.
 */
export async function openWalletAccount(trx: Kysely<Database>, wallet: WalletAddress, now: Date): Promise<string> {
  await lockWalletLink(trx, wallet)
  return (await linkedAccountOf(trx, wallet)) ?? ensureWalletAccount(trx, wallet, now)
}

/** A link that does not exist yet has no row to lock. */
export async function lockWalletLink(trx: Kysely<Database>, { chain, address }: WalletAddress): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`wallet-link:${chain}:${address}`}, 0))`.execute(trx)
}

export async function linkedAccountOf(db: Kysely<Database>, wallet: WalletAddress): Promise<string | undefined> {
  const row = await db
    .selectFrom('wallet_links')
    .select('account_id')
    .where('wallet_chain', '=', wallet.chain)
    .where('wallet_address', '=', wallet.address)
    .executeTakeFirst()
  return row?.account_id
}

export interface WalletAccountSettings {
  accountId: string
  tier: AccountTier
  suspended: boolean
  /** Null where the operator set no limits. */
  limitOverrides: LimitOverrides | null
}

export class WalletAccountRepository {
  readonly #db: Kysely<Database>

  constructor(db: Kysely<Database>) {
    this.#db = db
  }

  /** The account that the wallet uses; undefined while that is its own and has no row. */
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

  /** Stores the wallet's own account unless the wallet uses another one. */
  async open(wallet: WalletAddress, now: Date): Promise<void> {
    await this.#db.transaction().execute((trx) => openWalletAccount(trx, wallet, now))
  }

  /** The daily DIEM that the operator set, in nano. */
  async operatorStakeOf(accountId: string): Promise<bigint> {
    const row = await this.#db
      .selectFrom('accounts')
      .select('stake_diem_nano')
      .where('account_id', '=', accountId)
      .executeTakeFirst()
    return row?.stake_diem_nano ?? 0n
  }
}
