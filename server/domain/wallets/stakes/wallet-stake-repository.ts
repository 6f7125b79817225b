import { type Kysely, sql } from 'kysely'
import type { Database } from '../../../db/schema.ts'
import { accountIdOf } from '../wallet-account-id.ts'

export interface StakeReading {
  /** EVM, in lower case. */
  address: string
  day: string
  stakeNano: bigint
  readAt: Date
  /** Creates ids for the ledger entries. */
  newId: () => string
}

export class WalletStakeRepository {
  readonly #db: Kysely<Database>

  constructor(db: Kysely<Database>) {
    this.#db = db
  }

  /**
   * Stores a wallet's stake of a day for its current account, only once, and grants the DIEM in the same statement.
   * Returns the account, or undefined if the day is already stored or has not begun by the database's clock.
   */
  async record({ address, day, stakeNano, readAt, newId }: StakeReading): Promise<string | undefined> {
    const ownId = accountIdOf({ chain: 'evm', address })
    const newIds = [newId(), newId(), newId()]
    const { rows } = await sql<{ accountId: string | null }>`
      select record_wallet_stake(${address}, ${ownId}::uuid, ${day}::date, ${stakeNano.toString()}::bigint, ${readAt},
        ${newIds}::uuid[]) as "accountId"`.execute(this.#db)
    return rows[0]?.accountId ?? undefined
  }

  /** Wallets that are linked or had stake at the last reading, and whose stake of the day is unknown. */
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
