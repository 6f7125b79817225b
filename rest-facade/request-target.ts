const ORIGIN = /^https?:\/\/[^/?#]*/i

export interface RequestTarget {
  path: string
  /** The query without its question mark. */
  search: string
}

/** Path and query of a request line; a client that uses Sluice as a proxy writes the whole URL there. */
export function readRequestTarget(written: string): RequestTarget {
  const url = written.startsWith('/') ? written : written.replace(ORIGIN, '')
  const fragment = url.indexOf('#')
  const whole = fragment < 0 ? url : url.slice(0, fragment)
  const query = whole.indexOf('?')
  return query < 0 ? { path: whole, search: '' } : { path: whole.slice(0, query), search: whole.slice(query + 1) }
}

/** Whether a path is the base path or below it, in any case. */
export function isBelow(basePath: string, path: string): boolean {
  const next = path[basePath.length]
  return (
    (next === undefined || next === '/') &&
    (path.startsWith(basePath) || path.slice(0, basePath.length).toLowerCase() === basePath)
  )
}

/** Whether every escape in a path decodes to a character. */
export function isReadable(path: string): boolean {
  if (!path.includes('%')) return true
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}
