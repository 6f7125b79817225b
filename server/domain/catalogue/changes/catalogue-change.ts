import type { ModelDefinition } from '../model-definition.ts'

/** Settings of a model that an operator may change while the service runs. */
export const CHANGEABLE_FIELDS = ['pricing', 'offline', 'tier', 'deprecation'] as const
export type ChangeableField = (typeof CHANGEABLE_FIELDS)[number]

/** The changed settings; null restores the configuration file's value. */
export type ModelPatch = { [Field in ChangeableField]?: Exclude<ModelDefinition[Field], undefined> | null }

/**
 * One change of a model, in effect from `effectiveAt` until a later change of the same setting. Rows are never edited.
 */
export interface CatalogueChange {
  id: string
  modelId: string
  patch: ModelPatch
  effectiveAt: Date
  actor: string
  reason: string
  createdAt: Date
  /** Set if the change was withdrawn before it took effect. */
  withdrawal: { at: Date; actor: string; reason: string } | null
}

/** `replaced`: later changes of all its settings are in effect. */
export type ChangeStatus = 'scheduled' | 'in_force' | 'replaced' | 'withdrawn'

export interface JudgedChange extends CatalogueChange {
  status: ChangeStatus
}

/** Orders changes by effective time, then by creation; the last one wins. */
export function byEffect(a: CatalogueChange, b: CatalogueChange): number {
  return a.effectiveAt.getTime() - b.effectiveAt.getTime() || (a.id < b.id ? -1 : 1)
}
