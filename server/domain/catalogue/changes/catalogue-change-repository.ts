import { type Kysely, sql } from 'kysely'
import type { Database } from '../../../db/schema.ts'
import type { CatalogueChangeRow } from '../../../db/tables/catalogue-changes-table.ts'
import { itemAt } from '../../item-at.ts'
import type { CatalogueChange } from './catalogue-change.ts'

export class CatalogueChangeRepository {
  readonly #db: Kysely<Database>

  constructor(db: Kysely<Database>) {
    this.#db = db
  }

  async insert(change: CatalogueChange): Promise<void> {
    await this.#db
      .insertInto('catalogue_changes')
      .values({
        change_id: change.id,
        model_id: change.modelId,
        patch: JSON.stringify(change.patch),
        effective_at: change.effectiveAt,
        actor: change.actor,
        reason: change.reason,
        created_at: change.createdAt,
        withdrawn_at: null,
        withdrawn_by: null,
        withdrawn_reason: null,
      })
      .execute()
  }

  async find(changeId: string): Promise<CatalogueChange | undefined> {
    const row = await this.#db
      .selectFrom('catalogue_changes')
      .selectAll()
      .where('change_id', '=', changeId)
      .executeTakeFirst()
    return row === undefined ? undefined : toChange(row)
  }

  /** Undefined if the change is already withdrawn or in effect. */
  async withdraw(
    changeId: string,
    { at, actor, reason }: NonNullable<CatalogueChange['withdrawal']>,
  ): Promise<CatalogueChange | undefined> {
    const row = await this.#db
      .updateTable('catalogue_changes')
      .set({ withdrawn_at: at, withdrawn_by: actor, withdrawn_reason: reason })
      .where('change_id', '=', changeId)
      .where('withdrawn_at', 'is', null)
      .where('effective_at', '>', at)
      .returningAll()
      .executeTakeFirst()
    return row === undefined ? undefined : toChange(row)
  }

  /** Newest first: change ids are time-ordered. */
  async list(page: {
    modelId: string | undefined
    limit: number
    beforeId: string | undefined
  }): Promise<CatalogueChange[]> {
    let query = this.#db.selectFrom('catalogue_changes').selectAll().orderBy('change_id', 'desc').limit(page.limit)
    if (page.modelId !== undefined) query = query.where('model_id', '=', page.modelId)
    if (page.beforeId !== undefined) query = query.where('change_id', '<', page.beforeId)
    return (await query.execute()).map(toChange)
  }

  async listValid(): Promise<CatalogueChange[]> {
    const rows = await this.#db.selectFrom('catalogue_changes').selectAll().where('withdrawn_at', 'is', null).execute()
    return rows.map(toChange)
  }

  /** A value that differs after every change and withdrawal. */
  async version(): Promise<string> {
    const { rows } = await sql<{ version: string }>`
      select count(*)::text || '/' || count(withdrawn_at)::text as version from catalogue_changes
    `.execute(this.#db)
    return itemAt(rows, 0).version
  }
}

function toChange(row: CatalogueChangeRow): CatalogueChange {
  const { withdrawn_at: at, withdrawn_by: actor, withdrawn_reason: reason } = row
  return {
    id: row.change_id,
    modelId: row.model_id,
    patch: row.patch,
    effectiveAt: row.effective_at,
    actor: row.actor,
    reason: row.reason,
    createdAt: row.created_at,
    withdrawal: at === null ? null : { at, actor: actor ?? '', reason: reason ?? '' },
  }
}
