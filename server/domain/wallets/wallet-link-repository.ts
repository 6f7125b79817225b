import { type Kysely, type Selectable, sql } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { WalletLinksTable } from '../../db/tables/wallet-links-table.ts'
import { itemAt } from '../item-at.ts'
import type { Currency } from '../money.ts'
import type { LinkedWallet } from './linked-wallet.ts'
import { accountIdOf } from './wallet-account-id.ts'
import type { WalletAddress } from './wallet-address.ts'

/** Ids that the database function may need for ledger entries in both currencies. */
const IDS_OF_LINK = 6

/** Why a link was not made, or the amounts that it moved. */
export type LinkOutcome =
  | { kind: 'linked'; wallet: LinkedWallet; movedNano: Record<Currency, bigint> }
  | { kind: 'linked_elsewhere' }
  | { kind: 'too_many' }

export interface LinkRequest {
  wallet: WalletAddress
  accountId: string
  now: Date
  walletsMax: number
  /** Creates ids for the ledger entries. */
  newId: () => string
}

interface LinkRow {
  outcome: LinkOutcome['kind']
  linkedAt: Date
  usdNano: bigint
  diemNano: bigint
}

export class WalletLinkRepository {
  readonly #db: Kysely<Database>

  constructor(db: Kysely<Database>) {
    this.#db = db
  }

  /**
   * Links the wallet and moves the free funds of its own account in one transaction. A repeat moves funds released since.
   */
  async link({ wallet, accountId, now, walletsMax, newId }: LinkRequest): Promise<LinkOutcome> {
    const newIds = Array.from({ length: IDS_OF_LINK }, newId)
    const { rows } = await sql<LinkRow>`
      select outcome, linked_at as "linkedAt", usd_nano as "usdNano", diem_nano as "diemNano"
      from link_wallet(${wallet.chain}, ${wallet.address}, ${accountIdOf(wallet)}::uuid, ${accountId}::uuid,
        ${walletsMax}::integer, ${now}, ${newIds}::uuid[])`.execute(this.#db)
    const { outcome, linkedAt, usdNano, diemNano } = itemAt(rows, 0)
    if (outcome !== 'linked') return { kind: outcome }
    return { kind: outcome, wallet: { ...wallet, linkedAt }, movedNano: { usd: usdNano, diem: diemNano } }
  }

  /** Undefined if the wallet is not linked to the account. */
  async unlink(accountId: string, wallet: WalletAddress): Promise<LinkedWallet | undefined> {
    const row = await this.#db
      .deleteFrom('wallet_links')
      .where('account_id', '=', accountId)
      .where('wallet_chain', '=', wallet.chain)
      .where('wallet_address', '=', wallet.address)
      .returningAll()
      .executeTakeFirst()
    return row === undefined ? undefined : toLinkedWallet(row)
  }

  /** In the order of linking. */
  async list(accountId: string): Promise<LinkedWallet[]> {
    const rows = await this.#db
      .selectFrom('wallet_links')
      .selectAll()
      .where('account_id', '=', accountId)
      .orderBy('linked_at')
      .orderBy('wallet_address')
      .execute()
    return rows.map(toLinkedWallet)
  }
}

function toLinkedWallet(row: Selectable<WalletLinksTable>): LinkedWallet {
  return { chain: row.wallet_chain, address: row.wallet_address, linkedAt: row.linked_at }
}
