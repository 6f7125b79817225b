import { type Kysely, sql, type Transaction } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { ApiKeyRow } from '../../db/tables/api-keys-table.ts'
import type { AccountTier } from '../caller.ts'
import { addDays } from '../clock.ts'
import type { KeyEvent } from '../key-events.ts'
import type { CallerLimitOverrides } from '../limit-overrides.ts'
import { allDays, ClosedDays, closedUntilOf } from '../usage/closing/closed-days-repository.ts'
import type { UsageRange } from '../usage/reports/usage-range.ts'
import type { ApiKey } from './api-key.ts'
import type { ApiKeyDraft } from './api-key-issuer.ts'
import type { UpdateApiKeyInput } from './inputs.ts'
import type { KeySpend } from './key-spend.ts'

export type InsertOutcome = 'inserted' | 'limit_reached' | 'account_missing' | TooManyCreations

/** The account has reached its limit of key creations per minute. */
export interface TooManyCreations {
  /** Seconds until another creation is allowed. */
  waitSeconds: number
}

export interface InsertBounds {
  activeMax: number
  /** Maximum number of creations per rolling minute; null for an operator. */
  creationsPerMinute: number | null
}

/** The updated fields; absent fields keep their value. */
export type ApiKeyChanges = Omit<UpdateApiKeyInput, 'id'>

export interface KeyOfAccount {
  key: ApiKey
  tier: AccountTier
  suspended: boolean
  /** Null if the operator set no limits on the account or the key. */
  limitOverrides: CallerLimitOverrides | null
}

export interface KeyUse {
  accountId: string
  keyId: string
  usedAt: Date
}

export class ApiKeyRepository {
  readonly #db: Kysely<Database>
  readonly #reports: Kysely<Database>
  readonly #closedDays: ClosedDays

  constructor(db: Kysely<Database>, reports = db) {
    this.#db = db
    this.#reports = reports
    this.#closedDays = new ClosedDays(reports)
  }

  async findByHash(secretHash: string): Promise<KeyOfAccount | undefined> {
    const row = await this.#db
      .selectFrom('api_keys')
      .innerJoin('accounts', 'accounts.account_id', 'api_keys.account_id')
      .selectAll('api_keys')
      .select(['accounts.tier', 'accounts.suspended_at', 'accounts.limit_overrides as account_limit_overrides'])
      .where('key_hash', '=', secretHash)
      .executeTakeFirst()
    if (row === undefined) return undefined
    const { account_limit_overrides: account, limit_overrides: key } = row
    const limitOverrides = account === null && key === null ? null : { account, key }
    return { key: toApiKey(row), tier: row.tier, suspended: row.suspended_at !== null, limitOverrides }
  }

  /** Returns the key unless it is revoked or expired at `at`. */
  async findActive(accountId: string, keyId: string, at: Date): Promise<ApiKey | undefined> {
    const row = await active(this.#db, accountId, at).selectAll().where('key_id', '=', keyId).executeTakeFirst()
    return row === undefined ? undefined : toApiKey(row)
  }

  /** Keys that are neither revoked nor expired, newest first: key ids are time-ordered. */
  async listActive(
    accountId: string,
    at: Date,
    page: { limit?: number; beforeKeyId?: string | undefined } = {},
  ): Promise<ApiKey[]> {
    let query = active(this.#reports, accountId, at).selectAll().orderBy('key_id', 'desc')
    if (page.beforeKeyId !== undefined) query = query.where('key_id', '<', page.beforeKeyId)
    if (page.limit !== undefined) query = query.limit(page.limit)
    return (await query.execute()).map(toApiKey)
  }

  /** Stores a key unless the account is at its limits; locking the account row serializes parallel attempts. */
  async insertWithin(draft: ApiKeyDraft, bounds: InsertBounds): Promise<InsertOutcome> {
    return this.#db.transaction().execute(async (trx) => {
      if (!(await lockAccount(trx, draft.key.accountId))) return 'account_missing'
      return insertUnlessFull(trx, draft, bounds)
    })
  }

  /**
   * Replaces a key in one transaction: ends the old one at `oldEndsAt` (revokes it if null) and stores the draft that
   * `successor` creates from it. Undefined if the old key is not active.
   */
  async replace(
    target: { accountId: string; keyId: string; at: Date },
    successor: (old: ApiKey) => { draft: ApiKeyDraft; oldEndsAt: Date | null },
    bounds: InsertBounds,
  ): Promise<{ outcome: InsertOutcome; draft: ApiKeyDraft } | undefined> {
    return this.#db.transaction().execute(async (trx) => {
      if (!(await lockAccount(trx, target.accountId))) return undefined
      const row = await active(trx, target.accountId, target.at)
        .selectAll()
        .where('key_id', '=', target.keyId)
        .executeTakeFirst()
      if (row === undefined) return undefined
      const { draft, oldEndsAt } = successor(toApiKey(row))
      const activeMax = oldEndsAt === null ? bounds.activeMax + 1 : bounds.activeMax
      const outcome = await insertUnlessFull(trx, draft, { ...bounds, activeMax })
      if (outcome === 'inserted') {
        await trx
          .updateTable('api_keys')
          .set(oldEndsAt === null ? { revoked_at: target.at } : { expires_at: oldEndsAt })
          .where('account_id', '=', target.accountId)
          .where('key_id', '=', target.keyId)
          .execute()
      }
      return { outcome, draft }
    })
  }

  /** Returns the changed key; undefined if it is not active at `at`. */
  async update(
    target: { accountId: string; keyId: string; at: Date },
    changes: ApiKeyChanges,
  ): Promise<ApiKey | undefined> {
    const set = toRowChanges(changes)
    if (Object.keys(set).length === 0) return this.findActive(target.accountId, target.keyId, target.at)
    const row = await this.#db
      .updateTable('api_keys')
      .set(set)
      .where('account_id', '=', target.accountId)
      .where('key_id', '=', target.keyId)
      .where(isActive(target.at))
      .returningAll()
      .executeTakeFirst()
    return row === undefined ? undefined : toApiKey(row)
  }

  /** False if the key is not active at `at`. */
  async revoke({ accountId, keyId, at }: { accountId: string; keyId: string; at: Date }): Promise<boolean> {
    const row = await this.#db
      .updateTable('api_keys')
      .set({ revoked_at: at })
      .where('account_id', '=', accountId)
      .where('key_id', '=', keyId)
      .where(isActive(at))
      .returning('key_id')
      .executeTakeFirst()
    return row !== undefined
  }

  /**
   * Lists which of these keys and wallets' accounts are revoked, expired or suspended, in the form of the corresponding
   * events. The database's clock decides; `at`, the process's own time, is used only by test databases.
   */
  async listEnded(watched: readonly { accountId: string; keyId: string | null }[], at: Date): Promise<KeyEvent[]> {
    const items = JSON.stringify(watched.map(({ accountId, keyId }) => ({ account_id: accountId, key_id: keyId })))
    const { rows } = await sql<KeyEvent>`
      with watched as (select distinct * from json_to_recordset(${items}::json) as w (account_id uuid, key_id uuid))
      select case when k.revoked_at is null then 'key-changed' else 'key-revoked' end as kind, k.key_id as id
      from watched w join api_keys k using (account_id, key_id) join accounts a using (account_id)
      where k.revoked_at is not null or k.expires_at <= ledger_instant(${at}::timestamptz) or a.suspended_at is not null
      union all
      select 'account-changed', a.account_id from watched w join accounts a using (account_id)
      where w.key_id is null and a.suspended_at is not null`.execute(this.#db)
    return rows
  }

  /** Records last uses in one statement; an older use never overwrites a newer one. */
  async recordUses(uses: readonly KeyUse[]): Promise<void> {
    const items = JSON.stringify(
      uses.map(({ accountId, keyId, usedAt }) => ({ account_id: accountId, key_id: keyId, used_at: usedAt })),
    )
    await sql`update api_keys k set last_used_at = greatest(k.last_used_at, u.used_at)
      from json_to_recordset(${items}::json) as u (account_id uuid, key_id uuid, used_at timestamptz)
      where k.account_id = u.account_id and k.key_id = u.key_id`.execute(this.#db)
  }

  /** Each key's spending and holds, and its charges on the days of `recent`, from the daily roll-ups. */
  async listSpend(accountId: string, keyIds: readonly string[], recent: UsageRange): Promise<KeySpend[]> {
    const { rows } = await this.#closedDays.read(accountId, async (account) => {
      const found = await sql<KeySpend & { closedUntil: string }>`
        select s.key_id as "keyId", s.currency, s.held_nano as "heldNano", s.day, s.day_nano as "dayNano", s.month,
          s.month_nano as "monthNano", s.lifetime_nano as "lifetimeNano", recent_nano as "recentNano", ${closedUntilOf(accountId)} as "closedUntil" from key_spend s left join (
          select key_id, currency, sum(amount_nano)::text as recent_nano
          from (${allDays(account, 'key', [recent.from, addDays(recent.to, 1)])}) d where key_id in (${sql.join(keyIds)}) group by 1, 2
        ) recent using (key_id, currency)
        where s.account_id = ${accountId} and s.key_id in (${sql.join(keyIds)})`.execute(this.#reports)
      // Keys without spending have no totals that could be stale.
      return { rows: found.rows, closedUntil: found.rows[0]?.closedUntil ?? account.closedUntil }
    })
    return rows
  }
}

/** Stores a key within the caller's transaction; a counted creation uses up the account's limit per minute. */
export async function insertApiKey(
  trx: Transaction<Database>,
  { key, secretHash }: ApiKeyDraft,
  { counted = false } = {},
): Promise<void> {
  await trx
    .insertInto('api_keys')
    .values({
      account_id: key.accountId,
      key_id: key.id,
      key_hash: secretHash,
      type: key.type,
      description: key.description,
      limit_usd_nano: toNumeric(key.limits.usdNano),
      limit_diem_nano: toNumeric(key.limits.diemNano),
      limit_period: key.limitPeriod,
      model_privacy: key.modelPrivacy,
      last6_chars: key.last6Chars,
      created_at: key.createdAt,
      expires_at: key.expiresAt,
      revoked_at: null,
      last_used_at: null,
      counted_at: counted ? sql<Date>`ledger_instant(${key.createdAt})` : null,
    })
    .execute()
}

async function lockAccount(trx: Transaction<Database>, accountId: string): Promise<boolean> {
  // This weaker lock allows concurrent writes of rows that reference the account.
  const row = await trx
    .selectFrom('accounts')
    .select('account_id')
    .where('account_id', '=', accountId)
    .forNoKeyUpdate()
    .executeTakeFirst()
  return row !== undefined
}

async function insertUnlessFull(
  trx: Transaction<Database>,
  draft: ApiKeyDraft,
  { activeMax, creationsPerMinute }: InsertBounds,
): Promise<InsertOutcome> {
  const { accountId, createdAt } = draft.key
  const { count } = await active(trx, accountId, createdAt)
    .select((select) => select.fn.countAll<bigint>().as('count'))
    .executeTakeFirstOrThrow()
  if (count >= BigInt(activeMax)) return 'limit_reached'
  const wait = creationsPerMinute === null ? undefined : await findCreationWait(trx, draft, creationsPerMinute)
  if (wait !== undefined) return wait
  await insertApiKey(trx, draft, { counted: creationsPerMinute !== null })
  return 'inserted'
}

/**
 * Undefined while the account may create another key. Counts in the database, so the limit holds across all processes.
 */
async function findCreationWait(
  trx: Transaction<Database>,
  { key }: ApiKeyDraft,
  creationsPerMinute: number,
): Promise<TooManyCreations | undefined> {
  const { rows } = await sql<TooManyCreations>`
    select extract(epoch from counted_at + interval '1 minute' - ledger_instant(${key.createdAt}))::float8 as "waitSeconds"
    from api_keys where account_id = ${key.accountId} and counted_at > ledger_instant(${key.createdAt}) - interval '1 minute'
    order by counted_at desc offset ${creationsPerMinute - 1} limit 1`.execute(trx)
  return rows[0]
}

function active(db: Kysely<Database>, accountId: string, at: Date) {
  return db.selectFrom('api_keys').where('account_id', '=', accountId).where(isActive(at))
}

function isActive(at: Date) {
  return sql<boolean>`revoked_at is null and (expires_at is null or expires_at > ${at})`
}

function toRowChanges(changes: ApiKeyChanges) {
  const { description, limits, limitPeriod, modelPrivacy, expiresAt } = changes
  return {
    ...(description === undefined ? {} : { description }),
    ...(limits?.usdNano === undefined ? {} : { limit_usd_nano: toNumeric(limits.usdNano) }),
    ...(limits?.diemNano === undefined ? {} : { limit_diem_nano: toNumeric(limits.diemNano) }),
    ...(limitPeriod === undefined ? {} : { limit_period: limitPeriod }),
    ...(modelPrivacy === undefined ? {} : { model_privacy: modelPrivacy }),
    ...(expiresAt === undefined ? {} : { expires_at: expiresAt }),
  }
}

function toNumeric(amountNano: bigint | null): string | null {
  return amountNano === null ? null : amountNano.toString()
}

function toApiKey(row: ApiKeyRow): ApiKey {
  return {
    id: row.key_id,
    accountId: row.account_id,
    type: row.type,
    description: row.description,
    limits: {
      usdNano: row.limit_usd_nano === null ? null : BigInt(row.limit_usd_nano),
      diemNano: row.limit_diem_nano === null ? null : BigInt(row.limit_diem_nano),
    },
    limitPeriod: row.limit_period,
    modelPrivacy: row.model_privacy,
    last6Chars: row.last6_chars,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    lastUsedAt: row.last_used_at,
    revokedAt: row.revoked_at,
  }
}
