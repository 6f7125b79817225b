import type { InterpolationSource } from '../env.ts'
import type { FileProblem } from '../problem.ts'

const REFERENCE = /\$(\$?)\{([^}]*)\}/g
const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/

/**
 * Replaces `${NAME}` in every string of the document by the variable's value; `$${NAME}` stands for itself. It works on
 * parsed values, so that a secret with quotes or line ends cannot change the document's shape.
 */
export function interpolate(
  document: unknown,
  source: InterpolationSource,
): { document: unknown; problems: FileProblem[] } {
  const problems: FileProblem[] = []
  const visit = (value: unknown, path: (string | number)[]): unknown => {
    if (typeof value === 'string')
      return replaceReferences(value, source, (message) => problems.push({ path, message }))
    if (Array.isArray(value)) return value.map((item, index) => visit(item, [...path, index]))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, visit(item, [...path, key])]))
  }
  return { document: visit(document, []), problems }
}

function replaceReferences(text: string, source: InterpolationSource, report: (message: string) => void): string {
  return text.replace(REFERENCE, (reference: string, escape: string, name: string) => {
    if (escape !== '') return reference.slice(1)
    if (!VARIABLE_NAME.test(name)) {
      report(`"${name}" is not the name of an environment variable`)
      return reference
    }
    const value = source[name]
    if (value === undefined || value === '') {
      report(`the environment variable ${name} is not set`)
      return reference
    }
    return value
  })
}
