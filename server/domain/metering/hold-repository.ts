import { type Kysely, sql } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { Currency } from '../money.ts'

/** One row of `admit_holds`' input: the columns of the table `holds`. */
export interface AdmitItem {
  account_id: string
  request_id: string
  key_id: string | null
  amount_nano: string
  day: string
  admitted_at: string
  process_id: string
}

export type AdmitOutcome = 'admitted' | 'insufficient_balance' | 'key_limit_usd' | 'key_limit_diem' | 'key_inactive'

export interface AdmitResult {
  outcome: AdmitOutcome
  /** The currency that pays; null when refused. */
  currency: Currency | null
  usdNano: bigint
  diemNano: bigint
}

/** One row of `settle_holds`' input: the database type `settlement`. */
export interface SettleItem {
  account_id: string
  request_id: string
  currency: Currency
  day: string
  charge_nano: string
  transfer_id: string
  /** Null releases the hold: nothing is charged and no usage is written. */
  sku: string | null
  model_name?: string
  model_type?: string | null
  unit_type?: string
  lines?: { type: string; units: number; amount: string }[]
  outcome?: string
  estimated?: boolean
  upstream_id?: string | null
  retries?: number
  duration_ms?: number
  settled_at?: string
}

export interface SettleResult {
  /** `settled_before`: an earlier attempt did it. `lost`: a sweeper released the hold first, so nothing was charged. */
  outcome: 'settled' | 'settled_before' | 'lost'
  chargedNano: bigint
  balanceAfterNano: bigint
}

/** The database side of the money path; every method is one call and one transaction. */
export class HoldRepository {
  readonly #db: Kysely<Database>

  constructor(db: Kysely<Database>) {
    this.#db = db
  }

  async admit(items: readonly AdmitItem[]): Promise<AdmitResult[]> {
    const { rows } = await sql<{
      ordinal: bigint
      outcome: AdmitOutcome
      currency: Currency | null
      usd_nano: bigint
      diem_nano: bigint
    }>`select * from admit_holds(${JSON.stringify(items)}::json)`.execute(this.#db)
    const results = Array.from<AdmitResult>({ length: items.length })
    for (const row of rows) {
      results[Number(row.ordinal) - 1] = {
        outcome: row.outcome,
        currency: row.currency,
        usdNano: row.usd_nano ?? 0n,
        diemNano: row.diem_nano,
      }
    }
    return results
  }

  async settle(items: readonly SettleItem[]): Promise<SettleResult[]> {
    const { rows } = await sql<{
      ordinal: bigint
      outcome: SettleResult['outcome']
      charged_nano: bigint
      balance_after_nano: bigint
    }>`select * from settle_holds(${JSON.stringify(items)}::json)`.execute(this.#db)
    const results = Array.from<SettleResult>({ length: items.length })
    for (const row of rows) {
      results[Number(row.ordinal) - 1] = {
        outcome: row.outcome,
        chargedNano: row.charged_nano,
        balanceAfterNano: row.balance_after_nano ?? 0n,
      }
    }
    return results
  }

  async extend(accountId: string, requestId: string, byNano: bigint): Promise<boolean> {
    const { rows } = await sql<{
      extended: boolean
    }>`select extend_hold(${accountId}::uuid, ${requestId}::uuid, ${byNano.toString()}::bigint) as extended`.execute(
      this.#db,
    )
    return rows[0]?.extended ?? false
  }

  /** Registers this process, or renews its lease; the database's own clock decides, since leases span machines. */
  async heartbeat(processId: string): Promise<void> {
    await sql`insert into processes (process_id, started_at, heartbeat_at) values (${processId}::uuid, now(), now())
      on conflict (process_id) do update set heartbeat_at = now()`.execute(this.#db)
  }

  async endProcess(processId: string): Promise<void> {
    await sql`delete from processes p where p.process_id = ${processId}::uuid
      and not exists (select 1 from holds h where h.process_id = p.process_id)`.execute(this.#db)
  }

  /** Open holds whose process has not renewed its lease for `staleSeconds`, oldest first. */
  async listAbandoned(staleSeconds: number, limit: number): Promise<SettleItem[]> {
    const { rows } = await sql<{ account_id: string; request_id: string; currency: Currency; day: string }>`
      select h.account_id, h.request_id, h.currency, h.day from holds h
      where not exists (
        select 1 from processes p
        where p.process_id = h.process_id and p.heartbeat_at > now() - make_interval(secs => ${staleSeconds})
      )
      order by h.admitted_at limit ${limit}`.execute(this.#db)
    return rows.map((row) => ({ ...row, charge_nano: '0', transfer_id: row.request_id, sku: null }))
  }

  /** Forgets processes that are gone and hold nothing any more. */
  async forgetEndedProcesses(staleSeconds: number): Promise<void> {
    await sql`delete from processes p where p.heartbeat_at < now() - make_interval(secs => ${staleSeconds})
      and not exists (select 1 from holds h where h.process_id = p.process_id)`.execute(this.#db)
  }
}
