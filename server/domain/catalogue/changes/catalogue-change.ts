import type { ModelDefinition } from '../model-definition.ts'

/** Settings of a model that an operator may change while the service runs. */
export const CHANGEABLE_FIELDS = ['pricing', 'offline', 'tier', 'deprecation'] as const
export type ChangeableField = (typeof CHANGEABLE_FIELDS)[number]

/** The settings that change; null goes back to what the configuration file says. */
export type ModelPatch = { [Field in ChangeableField]?: Exclude<ModelDefinition[Field], undefined> | null }

/** One change of a model, in force from `effectiveAt` on until a later one of the same setting. Rows are never edited. */
export interface CatalogueChange {
  id: string
  modelId: string
  patch: ModelPatch
  effectiveAt: Date
  /** Name of the operator. */
  actor: string
  reason: string
  createdAt: Date
  /** Set when it was taken back before it took effect. */
  withdrawal: { at: Date; actor: string; reason: string } | null
}

/** `replaced`: later changes of all of its settings are in force. */
export type ChangeStatus = 'scheduled' | 'in_force' | 'replaced' | 'withdrawn'

export interface JudgedChange extends CatalogueChange {
  status: ChangeStatus
}

/** Later ones come last and win: by their instant, and of one instant the one that was made last. */
export function byEffect(a: CatalogueChange, b: CatalogueChange): number {
  return a.effectiveAt.getTime() - b.effectiveAt.getTime() || (a.id < b.id ? -1 : 1)
}
