import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { OperatorActionRow } from '../../db/tables/operator-actions-table.ts'
import type { ListActionsInput } from './inputs.ts'
import type { ActionSubject, OperatorAction } from './operator-action.ts'

export type ActionFilter = Omit<ListActionsInput, 'first' | 'after'>

/** The end of an action, with the subjects that only its result revealed. */
export interface FinishedAction extends ActionSubject {
  id: string
  outcome: 'done' | 'refused' | 'failed'
  errorCode: string | null
  errorMessage: string | null
  finishedAt: Date
}

export class AuditRepository {
  readonly #db: Kysely<Database>
  readonly #reports: Kysely<Database>

  constructor(db: Kysely<Database>, reports = db) {
    this.#db = db
    this.#reports = reports
  }

  async insert(action: OperatorAction): Promise<void> {
    await this.#db
      .insertInto('operator_actions')
      .values({
        action_id: action.id,
        actor: action.actor,
        action: action.action,
        account_id: action.accountId,
        key_id: action.keyId,
        model_id: action.modelId,
        input: JSON.stringify(action.input),
        reason: action.reason,
        request_id: action.requestId,
        outcome: action.outcome,
        error_code: action.errorCode,
        error_message: action.errorMessage,
        started_at: action.startedAt,
        finished_at: action.finishedAt,
      })
      .execute()
  }

  async finish(action: FinishedAction): Promise<void> {
    await this.#db
      .updateTable('operator_actions')
      .set(({ fn, val }) => ({
        outcome: action.outcome,
        error_code: action.errorCode,
        error_message: action.errorMessage,
        finished_at: action.finishedAt,
        account_id: fn.coalesce('account_id', val(action.accountId)),
        key_id: fn.coalesce('key_id', val(action.keyId)),
        model_id: fn.coalesce('model_id', val(action.modelId)),
      }))
      .where('action_id', '=', action.id)
      .execute()
  }

  /** Newest first: action ids are time-ordered. */
  async list(filter: ActionFilter, page: { limit: number; beforeId: string | undefined }): Promise<OperatorAction[]> {
    let query = this.#reports.selectFrom('operator_actions').selectAll().orderBy('action_id', 'desc').limit(page.limit)
    if (page.beforeId !== undefined) query = query.where('action_id', '<', page.beforeId)
    if (filter.actor !== undefined) query = query.where('actor', '=', filter.actor)
    if (filter.action !== undefined) query = query.where('action', 'like', `${escapePattern(filter.action)}%`)
    if (filter.accountId !== undefined) query = query.where('account_id', '=', filter.accountId)
    if (filter.keyId !== undefined) query = query.where('key_id', '=', filter.keyId)
    if (filter.modelId !== undefined) query = query.where('model_id', '=', filter.modelId)
    if (filter.requestId !== undefined) query = query.where('request_id', '=', filter.requestId)
    if (filter.outcome !== undefined) query = query.where('outcome', '=', filter.outcome)
    if (filter.from !== undefined) query = query.where('started_at', '>=', filter.from)
    if (filter.to !== undefined) query = query.where('started_at', '<', filter.to)
    return (await query.execute()).map(toAction)
  }
}

function escapePattern(text: string): string {
  return text.replaceAll(/[\\%_]/g, String.raw`\$&`)
}

function toAction(row: OperatorActionRow): OperatorAction {
  return {
    id: row.action_id,
    actor: row.actor,
    action: row.action,
    accountId: row.account_id,
    keyId: row.key_id,
    modelId: row.model_id,
    input: row.input,
    reason: row.reason,
    requestId: row.request_id,
    outcome: row.outcome,
    errorCode: row.error_code,
    errorMessage: row.error_message,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
  }
}
