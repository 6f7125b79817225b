import type { JSONColumnType, Selectable } from 'kysely'

/** What operators changed of the configured models. A row is only ever withdrawn, never edited: together they are the history. */
export interface CatalogueChangesTable {
  change_id: string
  model_id: string
  /** The settings that change, in the form of the configuration file; null goes back to what the file says. */
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
