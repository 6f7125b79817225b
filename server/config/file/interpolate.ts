import type { InterpolationSource } from '../env.ts'
import type { FileProblem } from '../problem.ts'

const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/
const QUOTED_CHARACTERS_MAX = 40

/**
 * Replaces `${NAME}` in every string of the document by the variable's value; `$${` is an escaped `${`. It works on
 * parsed values, so a secret with quotes or line breaks cannot change the document's shape.
 */
export function interpolate(
  document: unknown,
  source: InterpolationSource,
): { document: unknown; problems: FileProblem[] } {
  const problems: FileProblem[] = []
  const visit = (value: unknown, path: (string | number)[]): unknown => {
    if (typeof value === 'string') {
      const { text, faults } = replaceReferences(value, source)
      problems.push(...[...faults].map((message) => ({ path, message })))
      return text
    }
    if (Array.isArray(value)) return value.map((item, index) => visit(item, [...path, index]))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, visit(item, [...path, key])]))
  }
  return { document: visit(document, []), problems }
}

/** In one pass from left to right, in time proportional to the text. */
function replaceReferences(text: string, source: InterpolationSource): { text: string; faults: Set<string> } {
  const faults = new Set<string>()
  let replaced = ''
  let from = 0
  for (let open = text.indexOf('${'); open >= 0; open = text.indexOf('${', from)) {
    if (open > from && text[open - 1] === '$') {
      replaced += `${text.slice(from, open - 1)}\${`
      from = open + 2
      continue
    }
    const close = text.indexOf('}', open)
    if (close < 0) {
      faults.add('"${" has no matching "}"; write $${ for a literal "${"')
      break
    }
    const name = text.slice(open + 2, close)
    const value = VARIABLE_NAME.test(name) ? source[name] : undefined
    if (!VARIABLE_NAME.test(name)) faults.add(`${quoted(name)} is not the name of an environment variable`)
    else if (value === undefined || value === '') faults.add(`the environment variable ${name} is not set`)
    replaced += text.slice(from, open) + (value ?? '')
    from = close + 1
  }
  return { text: replaced + text.slice(from), faults }
}

function quoted(name: string): string {
  return JSON.stringify(name.length > QUOTED_CHARACTERS_MAX ? `${name.slice(0, QUOTED_CHARACTERS_MAX)}…` : name)
}
