import type { JSONColumnType, Selectable } from 'kysely'

/**
 * Operators' changes to the configured models. A row may be withdrawn but is never edited, so the rows are the history.
 */
export interface CatalogueChangesTable {
  change_id: string
  model_id: string
  /** The changed settings, in the form of the configuration file; null restores the file's value. */
  patch: JSONColumnType<object>
  effective_at: Date
  actor: string
  reason: string
  created_at: Date
  withdrawn_at: Date | null
  withdrawn_by: string | null
  withdrawn_reason: string | null
}

export type CatalogueChangeRow = Selectable<CatalogueChangesTable>
