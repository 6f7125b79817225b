import { DomainError } from '../errors.ts'
import { invalidField } from '../validation/parse-input.ts'

const NAME_CHARACTERS_MAX = 500
/** Longer names get no suggestion, because comparing them is expensive. */
const SUGGESTION_CHARACTERS_MAX = 64

/** Reads the `model` field of a request; clients depend on the two error texts. */
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

/** Treats dots, underscores and spaces as hyphens, and ignores case. */
export function normalizeModelName(name: string): string {
  return name.trim().toLowerCase().replaceAll(/[._ ]/g, '-')
}

/** Removes the `<service>-` prefix that Cursor and other clients add; undefined if there is none. */
export function withoutServicePrefix(name: string, serviceName: string): string | undefined {
  const prefix = `${serviceName}-`
  return name.toLowerCase().startsWith(prefix) ? name.slice(prefix.length) : undefined
}

/** The known name closest to a mistyped one; undefined if none is close. */
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
