import type { JSONColumnType, Selectable } from 'kysely'

/** What operators did. `action_id` is time-ordered; subjects are text, since a refused action may name what does not exist. */
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
  /** `started` until the action has ended; for good when its process died. */
  outcome: 'started' | 'done' | 'refused' | 'failed'
  error_code: string | null
  error_message: string | null
  started_at: Date
  finished_at: Date | null
}

export type OperatorActionRow = Selectable<OperatorActionsTable>
