import { DomainError } from '../errors.ts'
import { invalidField } from '../validation/parse-input.ts'

const NAME_CHARACTERS_MAX = 500
/** Longer names are refused without a suggestion: comparing them costs too much for what it gives. */
const SUGGESTION_CHARACTERS_MAX = 64

/** The `model` field of a request; the two texts are those that clients know. */
export function readModelName(value: unknown): string {
  if (value === undefined || value === null || value === '') throw modelProblem('model is required')
  if (typeof value !== 'string') throw modelProblem('model must be a string')
  if (value.length > NAME_CHARACTERS_MAX) {
    throw invalidField('model', `must have at most ${NAME_CHARACTERS_MAX} characters; it has ${value.length}`)
  }
  return value
}

function modelProblem(message: string): DomainError {
  return new DomainError('invalid_request', message, {
    field: 'model',
    details: { _errors: [], model: { _errors: [message] } },
  })
}

/** Dots, underscores and spaces count as hyphens, and case does not count. */
export function normalizeModelName(name: string): string {
  return name.trim().toLowerCase().replaceAll(/[._ ]/g, '-')
}

/** Cursor and others put `<service>-` before a name; undefined where there is no such prefix. */
export function withoutServicePrefix(name: string, serviceName: string): string | undefined {
  const prefix = `${serviceName}-`
  return name.toLowerCase().startsWith(prefix) ? name.slice(prefix.length) : undefined
}

/** The known name that is nearest to a mistyped one, unless none is near. */
export function suggestModelName(name: string, known: readonly string[]): string | undefined {
  if (name.length > SUGGESTION_CHARACTERS_MAX) return undefined
  const wanted = normalizeModelName(name)
  let best: { name: string; distance: number } | undefined
  for (const candidate of known) {
    const distance = editDistance(wanted, normalizeModelName(candidate).slice(0, SUGGESTION_CHARACTERS_MAX))
    if (best === undefined || distance < best.distance) best = { name: candidate, distance }
  }
  return best !== undefined && best.distance <= Math.max(2, wanted.length * 0.4) ? best.name : undefined
}

/** Levenshtein's distance, one row at a time. */
function editDistance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let row = 1; row <= from.length; row++) {
    const current = [row]
    for (let column = 1; column <= to.length; column++) {
      const substitution = (previous[column - 1] ?? 0) + (from[row - 1] === to[column - 1] ? 0 : 1)
      current.push(Math.min(substitution, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1))
    }
    previous = current
  }
  return previous[to.length] ?? 0
}
