import { InvalidArgumentError } from 'commander'

/** A name such as `text.M.requestsPerMinute`, and a whole number. */
const ASSIGNMENT = /^([A-Za-z0-9]+(?:\.[A-Za-z0-9]+){1,2})=(\d{1,15})$/

/** Limits as the server stores them: a number, or nested names. */
export type LimitNumbers = { [name: string]: number | LimitNumbers }

export interface LimitAssignment {
  path: string[]
  amount: number
}

/** Adds one `name=number` of a command line. */
export function collectAssignment(text: string, before: LimitAssignment[] | undefined): LimitAssignment[] {
  const [, name, amount] = ASSIGNMENT.exec(text) ?? []
  if (name === undefined || amount === undefined) {
    throw new InvalidArgumentError('It must have the form name=number, such as text.M.requestsPerMinute=200.')
  }
  return [...(before ?? []), { path: name.split('.'), amount: Number(amount) }]
}

/** `text.M.requestsPerMinute=200` as `{ text: { M: { requestsPerMinute: 200 } } }`. */
export function toLimitNumbers(assignments: readonly LimitAssignment[]): LimitNumbers {
  const limits: LimitNumbers = {}
  for (const { path, amount } of assignments) {
    let level = limits
    for (const name of path.slice(0, -1)) {
      const next = level[name]
      const inner = typeof next === 'object' ? next : {}
      level[name] = inner
      level = inner
    }
    level[path.at(-1) ?? ''] = amount
  }
  return limits
}

/** The reverse: dotted names with their numbers. */
export function toDottedNames(numbers: object, prefix = ''): Record<string, string> {
  return Object.fromEntries(
    Object.entries(numbers).flatMap(([name, value]: [string, unknown]) =>
      typeof value === 'object' && value !== null
        ? Object.entries(toDottedNames(value, `${prefix}${name}.`))
        : [[`${prefix}${name}`, String(value)]],
    ),
  )
}
