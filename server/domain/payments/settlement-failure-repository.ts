import { type Kysely, sql } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { WalletAddress } from '../wallets/wallet-address.ts'

export interface FailedSettlement {
  network: string
  transactionId: string
  payer: WalletAddress
  clientNetwork: string | null
}

export interface FailureCount {
  failures: number
  /** Settlements in progress, which may fail as well. */
  settling: number
  /** Seconds until the oldest failure is an hour old. */
  secondsLeft: number
}

/** Settlements that failed on chain, each counted only once, by the database's clock. */
export class SettlementFailureRepository {
  readonly #db: Kysely<Database>

  constructor(db: Kysely<Database>) {
    this.#db = db
  }

  async record({ network, transactionId, payer, clientNetwork }: FailedSettlement, now: Date): Promise<void> {
    await sql`insert into settlement_failures
      (network, transaction_id, payer_chain, payer_address, client_network, failed_at)
      values (${network}, ${transactionId}, ${payer.chain}, ${payer.address}, ${clientNetwork}, ledger_instant(${now}::timestamptz))
      on conflict do nothing`.execute(this.#db)
  }

  countOfPayer({ chain, address }: WalletAddress, now: Date): Promise<FailureCount> {
    return this.#count(sql`payer_chain = ${chain} and payer_address = ${address}`, now)
  }

  countOfClient(clientNetwork: string, now: Date): Promise<FailureCount> {
    return this.#count(sql`client_network = ${clientNetwork}`, now)
  }

  async forget(now: Date): Promise<void> {
    await sql`delete from settlement_failures
      where failed_at < ledger_instant(${now}::timestamptz) - interval '1 day'`.execute(this.#db)
  }

  async #count(cause: ReturnType<typeof sql>, now: Date): Promise<FailureCount> {
    const { rows } = await sql<{ failures: number; settling: number; seconds: number | null }>`
      select count(*)::int as failures,
        (select count(*)::int from payments where ${cause} and state = 'settling') as settling,
        ceil(extract(epoch from min(failed_at) + interval '1 hour' - ledger_instant(${now}::timestamptz)))::int as seconds
      from settlement_failures
      where ${cause} and failed_at > ledger_instant(${now}::timestamptz) - interval '1 hour'`.execute(this.#db)
    const { failures = 0, settling = 0, seconds = null } = rows[0] ?? {}
    return { failures, settling, secondsLeft: Math.max(1, seconds ?? 1) }
  }
}
