import { invalidField } from '../validation/parse-input.ts'

/** `<key>=<value>` pairs, joined by `&`. */
const PARAMETERS = /^[a-z]\w*=[^&]*(?:&[a-z]\w*=[^&]*)*$/i

export interface SuffixedName {
  name: string
  /** URL-decoded values; if a key repeats, the last value wins. */
  parameters: Record<string, string>
}

/**
 * Splits `<model>:<key>=<value>&…` into the model name and its parameters. Ids may contain colons, so an exact id wins;
 * otherwise the suffix begins at the first colon after which everything matches.
 */
export function splitModelSuffix(name: string, isExactId: (name: string) => boolean): SuffixedName {
  if (isExactId(name)) return { name, parameters: {} }
  for (let colon = name.indexOf(':'); colon >= 0; colon = name.indexOf(':', colon + 1)) {
    const rest = name.slice(colon + 1)
    if (PARAMETERS.test(rest)) return { name: name.slice(0, colon), parameters: parseParameters(rest) }
  }
  return { name, parameters: {} }
}

function parseParameters(text: string): Record<string, string> {
  const pairs = text.split('&').map((pair): [string, string] => {
    const equals = pair.indexOf('=')
    return [pair.slice(0, equals), decode(pair.slice(equals + 1))]
  })
  return Object.fromEntries(pairs)
}

function decode(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    throw invalidField('model', `the suffix value "${value.slice(0, 100)}" is not URL-encoded; write % as %25`)
  }
}
