import { itemAt } from '../../item-at.ts'

/** The name of a chart row's time column, which no other column may have. */
const RESERVED = 'date'
const WEB_APP = 'Web App'

export interface NamedKey {
  /** Null for usage without a key. */
  apiKeyId: string | null
  description: string
  last6Chars: string
}

/**
 * A distinct chart name for each key: its description if unique, else with the last characters of its secret, and if that
 * is not unique either, with its id.
 */
export function chartNames(keys: readonly NamedKey[]): string[] {
  const described = countOf([RESERVED, WEB_APP, ...keys.map(({ description }) => description.trim())])
  const short = keys.map((key) => {
    if (key.apiKeyId === null) return WEB_APP
    const description = key.description.trim()
    if (description === '') return `Key …${key.last6Chars}`
    return described.get(description) === 1 ? description : `${description} (…${key.last6Chars})`
  })
  const taken = countOf([RESERVED, ...short])
  return keys.map(({ apiKeyId }, index) => {
    const name = itemAt(short, index)
    return taken.get(name) === 1 || apiKeyId === null ? name : `${name} ${apiKeyId}`
  })
}

function countOf(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

export function modelChartName(modelName: string): string {
  return modelName === RESERVED ? `${modelName} (model)` : modelName
}
