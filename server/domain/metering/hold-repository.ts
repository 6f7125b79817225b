import { CompiledQuery, type Kysely, type RawBuilder, sql } from 'kysely'
import type { RunStatement } from '../../db/database.ts'
import type { Database } from '../../db/schema.ts'
import type { LimitPeriod } from '../api-keys/api-key.ts'
import { utcInstant } from '../clock.ts'
import { itemAt } from '../item-at.ts'
import type { Currency } from '../money.ts'
import { admissionText, arrayText, settlementText } from './batch-text.ts'
import type { AdmitOutcome, ExtendOutcome, MoneyItem, MoneyResult, Settlement, SettleResult } from './money-item.ts'

/** Of one batch of the money path. */
export interface BatchOptions {
  processId: string
  /** The process's own time, which only test databases trust. */
  at: Date
  /** Waits for locked balances, at most for 500 ms each, instead of returning `busy` for them. */
  waits: boolean
}

const SETTLE_AND_ADMIT =
  'select * from settle_and_admit($1::text::settlement[], $2::text::admission[], $3::uuid, $4::timestamptz, $5::boolean)'
const EXTEND = 'select extend_hold($1::uuid, $2::uuid, $3::bigint, $4::timestamptz) as outcome'

interface BatchRow {
  kind: 'settle' | 'admit'
  ordinal: number
  outcome: string
  currency: Currency | null
  charged_nano: bigint | null
  usd_nano: bigint | null
  diem_nano: bigint | null
  admitted_at: Date | null
}

/** A hold as the database has it, with what would release it. */
export interface OpenHold {
  release: Settlement
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

  /** Settles, then admits; each result is at its item's position. */
  async settleAndAdmit(items: readonly MoneyItem[], { processId, at, waits }: BatchOptions): Promise<MoneyResult[]> {
    const places = { settle: [] as number[], admit: [] as number[] }
    const texts = { settle: [] as string[], admit: [] as string[] }
    items.forEach(({ kind, item }, place) => {
      places[kind].push(place)
      texts[kind].push(kind === 'settle' ? settlementText(item) : admissionText(item))
    })
    const values = [arrayText(texts.settle), arrayText(texts.admit), processId, utcInstant(at), String(waits)]
    const rows = (await this.#run(SETTLE_AND_ADMIT, values)) as BatchRow[]
    if (rows.length !== items.length)
      throw new Error('the database returned another number of results than it got items')
    const results: MoneyResult[] = []
    for (const row of rows) results[places[row.kind][row.ordinal - 1] ?? -1] = toResult(row)
    return results
  }

  /** What the limit of a key is, and what of it is charged or held in its current period; undefined without a limit. */
  async findKeyLimit(accountId: string, keyId: string, { currency, at }: { currency: Currency; at: Date }) {
    const limit = currency === 'usd' ? sql.ref('k.limit_usd_nano') : sql.ref('k.limit_diem_nano')
    const { rows } = await sql<{ limit_nano: string | null; spent_nano: string; period: LimitPeriod; instant: Date }>`
      select ${limit}::text as limit_nano, k.limit_period as period, t.instant,
        key_spent_nano(s, k.limit_period, (t.instant at time zone 'UTC')::date)::text as spent_nano
      from api_keys k
      cross join (select ledger_instant(${at}::timestamptz) as instant) t
      left join key_spend s on s.account_id = k.account_id and s.key_id = k.key_id and s.currency = ${currency}
      where k.account_id = ${accountId}::uuid and k.key_id = ${keyId}::uuid`.execute(this.#db)
    const [row] = rows
    if (row === undefined || row.limit_nano === null) return undefined
    const { period, instant } = row
    return { limitNano: BigInt(row.limit_nano), spentNano: BigInt(row.spent_nano), period, instant }
  }

  /** Grows an open hold to an amount. */
  async extend(
    { accountId, requestId }: { accountId: string; requestId: string },
    { toNano, at }: { toNano: bigint; at: Date },
  ): Promise<ExtendOutcome> {
    const values = [accountId, requestId, toNano.toString(), utcInstant(at)]
    const rows = (await this.#run(EXTEND, values)) as { outcome: ExtendOutcome }[]
    return itemAt(rows, 0).outcome
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
  listAbandoned(staleSeconds: number, limit: number): Promise<OpenHold[]> {
    return this.#listHolds(sql`not exists (
      select 1 from processes p
      where p.process_id = h.process_id and p.heartbeat_at > now() - make_interval(secs => ${staleSeconds})
    ) order by h.admitted_at limit ${limit}`)
  }

  /** All open holds of one process. */
  listOfProcess(processId: string): Promise<OpenHold[]> {
    return this.#listHolds(sql`h.process_id = ${processId}::uuid`)
  }

  async #listHolds(condition: RawBuilder<unknown>): Promise<OpenHold[]> {
    const { rows } = await sql<{
      account_id: string
      request_id: string
      currency: Currency
      day: string
      amount_nano: bigint
      admitted_at: Date
    }>`
      select h.account_id, h.request_id, h.currency, h.day, h.amount_nano, h.admitted_at from holds h
      where ${condition}`.execute(this.#db)
    return rows.map(({ account_id: accountId, request_id: requestId, currency, day, ...row }) => ({
      release: { accountId, requestId, currency, day, transferId: requestId, chargeNano: 0n, usage: null },
      amountNano: row.amount_nano,
      admittedAt: row.admitted_at,
    }))
  }

  /** Forgets processes that are gone and hold nothing any more. */
  async forgetEndedProcesses(staleSeconds: number): Promise<void> {
    await sql`delete from processes p where p.heartbeat_at < now() - make_interval(secs => ${staleSeconds})
      and not exists (select 1 from holds h where h.process_id = p.process_id)`.execute(this.#db)
  }
}

function toResult(row: BatchRow): MoneyResult {
  if (row.outcome === 'busy') return { kind: 'busy' }
  if (row.kind === 'settle') {
    const outcome = row.outcome as SettleResult['outcome']
    return {
      kind: 'settle',
      result: { outcome, chargedNano: row.charged_nano ?? 0n, balanceAfterNano: row.usd_nano ?? 0n },
    }
  }
  const { currency, usd_nano: usdNano, diem_nano: diemNano, admitted_at: admittedAt } = row
  const outcome = row.outcome as AdmitOutcome
  return { kind: 'admit', result: { outcome, currency, usdNano: usdNano ?? 0n, diemNano: diemNano ?? 0n, admittedAt } }
}

function throughBuilder(db: Kysely<Database>): RunStatement {
  return async (text, values) => {
    // Raw, because a template is compiled anew for each call.
    const { rows } = await db.executeQuery(CompiledQuery.raw(text, [...values]))
    return rows
  }
}
