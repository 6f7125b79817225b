import type { Kysely, Transaction } from 'kysely'
import type { Database } from '../../db/schema.ts'
import { LedgerTransaction, type LockedBalance } from '../ledger/ledger-repository.ts'
import type { Currency } from '../money.ts'
import { linkedAccountOf, lockWalletLink } from './wallet-account-repository.ts'
import { accountIdOf } from './wallet-account-id.ts'
import type { WalletAddress } from './wallet-address.ts'
import type { LinkedWallet } from './linked-wallet.ts'

/** Why a link was not made, or what it moved. */
export type LinkOutcome =
  | { kind: 'linked'; wallet: LinkedWallet; movedNano: Record<Currency, bigint> }
  | { kind: 'linked_elsewhere' }
  | { kind: 'too_many' }

export interface LinkRequest {
  wallet: WalletAddress
  accountId: string
  now: Date
  /** Most wallets of an account. */
  walletsMax: number
  /** Fresh ids for the postings. */
  newId: () => string
}

const CURRENCIES = ['diem', 'usd'] as const

export class WalletLinkRepository {
  readonly #db: Kysely<Database>

  constructor(db: Kysely<Database>) {
    this.#db = db
  }

  /** Links the wallet and moves what is free on its own account, all or nothing. A repeat moves what has become free since. */
  async link(request: LinkRequest): Promise<LinkOutcome> {
    return this.#db.transaction().execute(async (trx) => {
      await lockWalletLink(trx, request.wallet)
      const before = await linkedAccountOf(trx, request.wallet)
      if (before !== undefined && before !== request.accountId) return { kind: 'linked_elsewhere' }
      if (before === undefined && !(await insertLink(trx, request))) return { kind: 'too_many' }
      const movedNano = await moveFreeBalances(trx, request)
      const [wallet] = await listLinks(trx, request.accountId, request.wallet)
      if (wallet === undefined) throw new Error('a link that was made is there')
      return { kind: 'linked', wallet, movedNano }
    })
  }

  /** Undefined when the wallet is not linked to the account. */
  async unlink(accountId: string, wallet: WalletAddress): Promise<LinkedWallet | undefined> {
    return this.#db.transaction().execute(async (trx) => {
      await lockWalletLink(trx, wallet)
      const [linked] = await listLinks(trx, accountId, wallet)
      if (linked === undefined) return undefined
      await trx
        .deleteFrom('wallet_links')
        .where('wallet_chain', '=', wallet.chain)
        .where('wallet_address', '=', wallet.address)
        .execute()
      return linked
    })
  }

  /** First linked first. */
  async list(accountId: string): Promise<LinkedWallet[]> {
    return listLinks(this.#db, accountId)
  }
}

/** False when the account has the most wallets already; its row is locked so that two links at once count each other. */
async function insertLink(
  trx: Transaction<Database>,
  { wallet, accountId, now, walletsMax }: LinkRequest,
): Promise<boolean> {
  await trx.selectFrom('accounts').select('account_id').where('account_id', '=', accountId).forUpdate().execute()
  const { links } = await trx
    .selectFrom('wallet_links')
    .select(({ fn }) => fn.countAll<string>().as('links'))
    .where('account_id', '=', accountId)
    .executeTakeFirstOrThrow()
  if (Number(links) >= walletsMax) return false
  await trx
    .insertInto('wallet_links')
    .values({ wallet_chain: wallet.chain, wallet_address: wallet.address, account_id: accountId, linked_at: now })
    .execute()
  return true
}

async function moveFreeBalances(trx: Transaction<Database>, request: LinkRequest): Promise<Record<Currency, bigint>> {
  const ledger = new LedgerTransaction(trx)
  const ownId = accountIdOf(request.wallet)
  const locked = new Map<string, LockedBalance | undefined>()
  // In the order of every function that moves money, so that none waits for another in a circle.
  for (const id of [ownId, request.accountId].toSorted())
    for (const currency of CURRENCIES) locked.set(`${id} ${currency}`, await ledger.lockBalance(id, currency))
  const movedNano = { usd: 0n, diem: 0n }
  for (const currency of CURRENCIES) {
    const [from, to] = [locked.get(`${ownId} ${currency}`), locked.get(`${request.accountId} ${currency}`)]
    if (from === undefined || to === undefined) continue
    // DIEM of one day must not become that of another.
    if (from.epoch_day !== to.epoch_day) continue
    const amountNano = from.balance_nano - from.held_nano
    if (amountNano === 0n) continue
    await postMove(ledger, { from, to, amountNano, request })
    movedNano[currency] = amountNano
  }
  return movedNano
}

interface Move {
  from: LockedBalance
  to: LockedBalance
  amountNano: bigint
  request: LinkRequest
}

/** Both sides under one reference, by which they are proven to belong together. */
async function postMove(ledger: LedgerTransaction, { from, to, amountNano, request }: Move): Promise<void> {
  const { wallet, now, newId } = request
  const posting = {
    kind: 'transfer' as const,
    counterAccount: 'platform:wallet-links',
    reference: `wallet-link:${newId()}`,
    reason: `Wallet ${wallet.address} was linked to account ${to.account_id}`,
    createdAt: now,
  }
  await ledger.post(from, { ...posting, transferId: newId(), amountNano: -amountNano })
  await ledger.post(to, { ...posting, transferId: newId(), amountNano })
}

async function listLinks(db: Kysely<Database>, accountId: string, wallet?: WalletAddress): Promise<LinkedWallet[]> {
  let query = db.selectFrom('wallet_links').selectAll().where('account_id', '=', accountId)
  if (wallet !== undefined) {
    query = query.where('wallet_chain', '=', wallet.chain).where('wallet_address', '=', wallet.address)
  }
  const rows = await query.orderBy('linked_at').orderBy('wallet_address').execute()
  return rows.map((row) => ({ chain: row.wallet_chain, address: row.wallet_address, linkedAt: row.linked_at }))
}
