import type { ModelDefinition } from './model-definition.ts'

/** The deprecation data in the response headers and in `GET /models`. */
export interface DeprecationNotice {
  message: string
  /** ISO 8601. */
  date: string
}

/** Time at which the model stops being served, ISO 8601; defaults to its deprecation date. */
export function removalDate(deprecation: NonNullable<ModelDefinition['deprecation']>): string {
  return deprecation.removesAt ?? deprecation.date
}

export function isRetired({ deprecation }: ModelDefinition, nowMs: number): boolean {
  return deprecation !== undefined && nowMs >= Date.parse(removalDate(deprecation))
}

/** Undefined if the model is not deprecated or its notice period has not begun. */
export function deprecationNotice(model: ModelDefinition, nowMs: number): DeprecationNotice | undefined {
  const { deprecation } = model
  if (deprecation === undefined) return undefined
  if (deprecation.startsAt !== undefined && nowMs < Date.parse(deprecation.startsAt)) return undefined
  const { replacementModelId, date } = deprecation
  const wayOut = replacementModelId === undefined ? '' : ` Use ${replacementModelId} instead.`
  const message = deprecation.message ?? `The model ${model.id} is deprecated as of ${date}.${wayOut}`
  return { message, date }
}
