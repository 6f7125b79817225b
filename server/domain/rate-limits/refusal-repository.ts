import { type Kysely, sql } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { RateLimitRefusalRow } from '../../db/tables/rate-limit-refusals-table.ts'
import type { Refusal } from './refusal.ts'

/** The position of a page: after the entry with this time and id. */
export interface RefusalPosition {
  at: Date
  id: string
}

export class RefusalRepository {
  readonly #db: Kysely<Database>
  readonly #reports: Kysely<Database>
  readonly #jobs: Kysely<Database>

  constructor(db: Kysely<Database>, { reports = db, jobs = db } = {}) {
    this.#db = db
    this.#reports = reports
    this.#jobs = jobs
  }

  /** Stores rejections in one statement; repeating one changes nothing. */
  async insert(refusals: readonly Refusal[]): Promise<void> {
    const rows = refusals.map((refusal) => ({
      account_id: refusal.accountId,
      refusal_id: refusal.id,
      key_id: refusal.apiKeyId,
      subject: refusal.subject,
      tier: refusal.rateLimitTier,
      type: refusal.rateLimitType,
      refused_at: refusal.at,
    }))
    await sql`insert into rate_limit_refusals (account_id, refusal_id, key_id, subject, tier, type, refused_at)
      select account_id, refusal_id, key_id, subject, tier, type, refused_at
      from json_to_recordset(${JSON.stringify(rows)}::json) as r (account_id uuid, refusal_id uuid, key_id uuid,
        subject text, tier text, type text, refused_at timestamptz)
      on conflict do nothing`.execute(this.#db)
  }

  /** Newest first, for one account or all. */
  async list(accountId: string | null, page: { limit: number; before: RefusalPosition | null }): Promise<Refusal[]> {
    let query = this.#reports.selectFrom('rate_limit_refusals').selectAll()
    if (accountId !== null) query = query.where('account_id', '=', accountId)
    if (page.before !== null) {
      const { at, id } = page.before
      query = query.where(sql<boolean>`(refused_at, refusal_id) < (${at}::timestamptz, ${id}::uuid)`)
    }
    const rows = await query.orderBy('refused_at', 'desc').orderBy('refusal_id', 'desc').limit(page.limit).execute()
    return rows.map(toRefusal)
  }

  /** Keeps the newest `keep` of each of the accounts. */
  async prune(accountIds: readonly string[], keep: number): Promise<void> {
    await sql`delete from rate_limit_refusals r
      using unnest(${accountIds}::uuid[]) as a (account_id)
      cross join lateral (
        select k.refused_at, k.refusal_id from rate_limit_refusals k where k.account_id = a.account_id
        order by k.refused_at desc, k.refusal_id desc offset ${keep}::int limit 1
      ) surplus
      where r.account_id = a.account_id and (r.refused_at, r.refusal_id) <= (surplus.refused_at, surplus.refusal_id)`.execute(
      this.#db,
    )
  }

  async deleteBefore(at: Date): Promise<void> {
    await this.#jobs.deleteFrom('rate_limit_refusals').where('refused_at', '<', at).execute()
  }
}

function toRefusal(row: RateLimitRefusalRow): Refusal {
  return {
    id: row.refusal_id,
    accountId: row.account_id,
    apiKeyId: row.key_id,
    subject: row.subject,
    rateLimitTier: row.tier,
    rateLimitType: row.type,
    at: row.refused_at,
  }
}
