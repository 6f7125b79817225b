import type { ModelDefinition } from './model-definition.ts'

/** What the deprecation headers and `GET /models` say about a model on its way out. */
export interface DeprecationNotice {
  message: string
  /** ISO 8601. */
  date: string
}

/** Instant from which a model is no longer served, ISO 8601; its deprecation date unless it is told apart. */
export function removalDate(deprecation: NonNullable<ModelDefinition['deprecation']>): string {
  return deprecation.removesAt ?? deprecation.date
}

export function isRetired({ deprecation }: ModelDefinition, nowMs: number): boolean {
  return deprecation !== undefined && nowMs >= Date.parse(removalDate(deprecation))
}

/** Undefined where nothing is deprecated, or where its notice has not begun. */
export function deprecationNotice(model: ModelDefinition, nowMs: number): DeprecationNotice | undefined {
  const { deprecation } = model
  if (deprecation === undefined) return undefined
  if (deprecation.startsAt !== undefined && nowMs < Date.parse(deprecation.startsAt)) return undefined
  const { replacementModelId, date } = deprecation
  const wayOut = replacementModelId === undefined ? '' : ` Use ${replacementModelId} instead.`
  const message = deprecation.message ?? `The model ${model.id} is deprecated as of ${date}.${wayOut}`
  return { message, date }
}
