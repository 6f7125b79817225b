import createRouter from 'find-my-way'
import type { PathParameters } from './exchange.ts'
import type { Route } from './route.ts'

/** The route for a path and method, with the path's parameters; otherwise the methods that the path supports. */
export type RouteMatch = { route: Route; params: PathParameters } | { allowed: readonly string[] }

const SPLAT = /\*(\w+)$/
/** The HTTP server's header limit already bounds a path. */
const ANY_LENGTH = Number.MAX_SAFE_INTEGER

/**
 * Finds routes by method and path. Case and one trailing slash are ignored; a fixed path takes precedence over a
 * parameter, and a parameter over a splat. Escapes are decoded in parameters only.
 */
export class RouteMatcher {
  readonly #routes = createRouter({ caseSensitive: false, maxParamLength: ANY_LENGTH })
  /** Each path once, registered as GET, with its methods. */
  readonly #methods = createRouter({ caseSensitive: false, maxParamLength: ANY_LENGTH })

  constructor(basePath: string, routes: readonly Route[]) {
    const methodsByPath = new Map<string, string[]>()
    for (const route of routes) {
      const method = route.method.toUpperCase() as Uppercase<Route['method']>
      for (const path of writings(basePath + route.path)) this.#routes.on(method, path, ignore, route)
      methodsByPath.set(route.path, [...(methodsByPath.get(route.path) ?? []), method])
    }
    for (const [path, methods] of methodsByPath) {
      for (const written of writings(basePath + path)) this.#methods.on('GET', written, ignore, methods)
    }
  }

  match(method: string, path: string): RouteMatch | undefined {
    // The router would also decode escapes in fixed parts of a path; encoding them again prevents that.
    const written = path.includes('%') ? path.replaceAll('%', '%25') : path
    const found = this.#routes.find((method === 'HEAD' ? 'GET' : method) as 'GET', written)
    if (found !== null) {
      const route = found.store as Route
      const params = toParameters(route, found.params)
      if (params !== undefined) return { route, params }
    }
    const served = this.#methods.find('GET', written)
    const isServed = served !== null && !Object.values(served.params).includes('')
    return isServed ? { allowed: served.store as readonly string[] } : undefined
  }
}

function ignore(): void {}

/** The spellings of a path for the router: with and without a trailing slash, which a splat would include. */
function writings(path: string): string[] {
  return SPLAT.test(path) ? [path.replace(SPLAT, '*')] : [path, `${path}/`]
}

/** Decoded; undefined if one of them is empty. */
function toParameters(route: Route, found: Record<string, string | undefined>): PathParameters | undefined {
  const params: Record<string, string> = {}
  for (const [name, value = ''] of Object.entries(found)) {
    if (value === '') return undefined
    params[name === '*' ? (SPLAT.exec(route.path)?.[1] ?? name) : name] = decodeURIComponent(value)
  }
  return params
}
