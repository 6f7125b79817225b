import { CompiledQuery, type Kysely, sql } from 'kysely'
import type { RunStatement } from '../../db/database.ts'
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
  lines?: { type: string; units: number; amount: string; price?: string }[]
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

export type MoneyItem = { kind: 'settle'; item: SettleItem } | { kind: 'admit'; item: AdmitItem }
export type MoneyResult = { kind: 'settle'; result: SettleResult } | { kind: 'admit'; result: AdmitResult }

const EXCHANGE = 'select exchange_holds($1::json, $2::json) as results'

/** What `exchange_holds` answers: per kind a list of rows, or null where there was no item; amounts as decimal text. */
type SettledRow = [ordinal: number, outcome: SettleResult['outcome'], chargedNano: string, balanceNano: string | null]
type AdmittedRow = [
  ordinal: number,
  outcome: AdmitOutcome,
  usdNano: string | null,
  diemNano: string,
  currency: Currency | null,
]
interface ExchangeRow {
  results: [settled: SettledRow[] | null, admitted: AdmittedRow[] | null]
}

/** Where the items of one kind stand. */
function placesOf(items: readonly MoneyItem[], kind: MoneyItem['kind']): number[] {
  return items.flatMap((item, place) => (item.kind === kind ? [place] : []))
}

function toJson(items: readonly MoneyItem[], places: readonly number[]): string {
  return JSON.stringify(places.map((place) => items[place]?.item))
}

/** A hold whose process is gone. */
export interface AbandonedHold {
  release: SettleItem
  amountNano: bigint
  admittedAt: Date
}

/** The database side of the money path; every method is one call and one transaction. */
export class HoldRepository {
  readonly #db: Kysely<Database>
  /** For the call of every request. */
  readonly #run: RunStatement

  constructor(db: Kysely<Database>, run: RunStatement = throughBuilder(db)) {
    this.#db = db
    this.#run = run
  }

  /** Settles, then admits; every result stands at its item's position. */
  async exchange(items: readonly MoneyItem[]): Promise<MoneyResult[]> {
    const settlements = placesOf(items, 'settle')
    const admissions = placesOf(items, 'admit')
    const values = [toJson(items, settlements), toJson(items, admissions)]
    const [row] = (await this.#run(EXCHANGE, values)) as ExchangeRow[]
    const [settled, admitted] = row?.results ?? [null, null]
    const results: MoneyResult[] = []
    for (const [ordinal, outcome, chargedNano, balanceNano] of settled ?? []) {
      const result = { outcome, chargedNano: BigInt(chargedNano), balanceAfterNano: BigInt(balanceNano ?? 0) }
      results[settlements[ordinal - 1] ?? -1] = { kind: 'settle', result }
    }
    for (const [ordinal, outcome, usdNano, diemNano, currency] of admitted ?? []) {
      const result = { outcome, currency, usdNano: BigInt(usdNano ?? 0), diemNano: BigInt(diemNano) }
      results[admissions[ordinal - 1] ?? -1] = { kind: 'admit', result }
    }
    return items.map((_, place) => {
      const result = results[place]
      if (result === undefined) throw new Error('the database gave no result for an item of its batch')
      return result
    })
  }

  /** One settlement by itself. */
  async settle(item: SettleItem): Promise<SettleResult> {
    const [settled] = await this.exchange([{ kind: 'settle', item }])
    if (settled?.kind !== 'settle') throw new Error('a settlement has a settlement result')
    return settled.result
  }

  /** One admission by itself. */
  async admit(item: AdmitItem): Promise<AdmitResult> {
    const [admitted] = await this.exchange([{ kind: 'admit', item }])
    if (admitted?.kind !== 'admit') throw new Error('an admission has an admission result')
    return admitted.result
  }

  async extend(accountId: string, requestId: string, byNano: bigint): Promise<boolean> {
    const { rows } = await sql<{
      extended: boolean
    }>`select extend_hold(${accountId}::uuid, ${requestId}::uuid, ${byNano.toString()}::bigint) as extended`.execute(
      this.#db,
    )
    return rows[0]?.extended ?? false
  }

  /**
   * Registers this process, or renews its lease; the database's own clock decides, since leases span machines. Gives the
   * seconds since the lease was last renewed, 0 for a new one.
   */
  async heartbeat(processId: string): Promise<number> {
    const { rows } = await sql<{ age: number }>`
      with before as (select p.heartbeat_at from processes p where p.process_id = ${processId}::uuid)
      insert into processes (process_id, started_at, heartbeat_at) values (${processId}::uuid, now(), now())
      on conflict (process_id) do update set heartbeat_at = now()
      returning coalesce((select extract(epoch from now() - b.heartbeat_at) from before b), 0)::float8 as age`.execute(
      this.#db,
    )
    return rows[0]?.age ?? 0
  }

  async endProcess(processId: string): Promise<void> {
    await sql`delete from processes p where p.process_id = ${processId}::uuid
      and not exists (select 1 from holds h where h.process_id = p.process_id)`.execute(this.#db)
  }

  /** Open holds whose process has not renewed its lease for `staleSeconds`, oldest first. */
  async listAbandoned(staleSeconds: number, limit: number): Promise<AbandonedHold[]> {
    const { rows } = await sql<{
      account_id: string
      request_id: string
      currency: Currency
      day: string
      amount_nano: bigint
      admitted_at: Date
    }>`
      select h.account_id, h.request_id, h.currency, h.day, h.amount_nano, h.admitted_at from holds h
      where not exists (
        select 1 from processes p
        where p.process_id = h.process_id and p.heartbeat_at > now() - make_interval(secs => ${staleSeconds})
      )
      order by h.admitted_at limit ${limit}`.execute(this.#db)
    return rows.map(({ amount_nano: amountNano, admitted_at: admittedAt, ...row }) => ({
      release: { ...row, charge_nano: '0', transfer_id: row.request_id, sku: null },
      amountNano,
      admittedAt,
    }))
  }

  /** Forgets processes that are gone and hold nothing any more. */
  async forgetEndedProcesses(staleSeconds: number): Promise<void> {
    await sql`delete from processes p where p.heartbeat_at < now() - make_interval(secs => ${staleSeconds})
      and not exists (select 1 from holds h where h.process_id = p.process_id)`.execute(this.#db)
  }
}

function throughBuilder(db: Kysely<Database>): RunStatement {
  return async (text, values) => {
    // Raw, because a template is compiled anew for each call.
    const { rows } = await db.executeQuery(CompiledQuery.raw(text, [...values]))
    return rows
  }
}
