import type { JSONColumnType, Selectable } from 'kysely'

/**
 * Actions of operators. `action_id` is time-ordered; subjects are text, because a rejected action may name a missing
 * object.
 */
export interface OperatorActionsTable {
  action_id: string
  actor: string
  action: string
  account_id: string | null
  key_id: string | null
  model_id: string | null
  input: JSONColumnType<object>
  reason: string | null
  request_id: string
  /** `started` until the action ends; it stays `started` if the process died. */
  outcome: 'started' | 'done' | 'refused' | 'failed'
  error_code: string | null
  error_message: string | null
  started_at: Date
  finished_at: Date | null
}

export type OperatorActionRow = Selectable<OperatorActionsTable>
