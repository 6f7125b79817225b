import { type Kysely, sql } from 'kysely'
import type { Database } from '../../../db/schema.ts'
import { LedgerTransaction } from '../../ledger/ledger-repository.ts'
import { openWalletAccount } from '../wallet-account-repository.ts'

export interface StakeReading {
  /** EVM, in lower case. */
  address: string
  day: string
  stakeNano: bigint
  readAt: Date
}

/** Grants what a rise of the account's stake adds to its day. */
type GrantRise = (ledger: LedgerTransaction, accountId: string) => Promise<void>

export class WalletStakeRepository {
  readonly #db: Kysely<Database>

  constructor(db: Kysely<Database>) {
    this.#db = db
  }

  /**
   * Stores what a wallet had on a day for the account that it uses now, once, and grants it in the same transaction:
   * whatever the wallet is linked to later that day, its stake has been given out. Returns the account, or undefined when the
   * day was stored before.
   */
  async record({ address, day, stakeNano, readAt }: StakeReading, grantRise: GrantRise): Promise<string | undefined> {
    return this.#db.transaction().execute(async (trx) => {
      const account_id = await openWalletAccount(trx, { chain: 'evm', address }, readAt)
      const { numInsertedOrUpdatedRows } = await trx
        .insertInto('wallet_stakes')
        .values({ wallet_address: address, account_id, day, stake_nano: stakeNano })
        .onConflict((conflict) =>
          conflict
            .column('wallet_address')
            .doUpdateSet({ account_id, day, stake_nano: stakeNano })
            .where('wallet_stakes.day', '<', day),
        )
        .executeTakeFirstOrThrow()
      if (!numInsertedOrUpdatedRows) return undefined
      if (stakeNano > 0n) await grantRise(new LedgerTransaction(trx), account_id)
      return account_id
    })
  }

  /** Wallets that are linked, or had stake when it was read last, and whose stake of the day is not known yet. */
  async listDue(day: string, limit: number): Promise<string[]> {
    const { rows } = await sql<{ address: string }>`
      select wallet_address as address from wallet_stakes where stake_nano > 0 and day < ${day}
      union
      select l.wallet_address from wallet_links l left join wallet_stakes s using (wallet_address)
      where l.wallet_chain = 'evm' and (s.day is null or s.day < ${day})
      limit ${limit}`.execute(this.#db)
    return rows.map(({ address }) => address)
  }
}
