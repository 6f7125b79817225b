import type { IncomingMessage } from 'node:http'
import type { Target } from './exchange.ts'
import type { Route } from './route.ts'

const FIXED = /^[\w/.-]+$/
const LAST_SEGMENT = /^([\w/.-]+\/):(\w+)$/
const SIMPLE_VALUE = /^[\w.-]+$/

/**
 * Finds the routes whose path is fixed, or ends in one parameter, by one look into a map. Paths written in any other
 * way (escapes, doubled or trailing slashes, splats) are not found here.
 */
export class DirectRoutes {
  readonly #fixed = new Map<string, Route>()
  readonly #byPrefix = new Map<string, { route: Route; name: string }>()

  constructor(basePath: string, routes: readonly Route[]) {
    for (const route of routes) {
      const path = `${route.method.toUpperCase()} ${basePath}${route.path}`
      const [, prefix, name] = LAST_SEGMENT.exec(route.path) ?? []
      if (FIXED.test(route.path)) this.#fixed.set(path, route)
      else if (prefix !== undefined && name !== undefined) {
        this.#byPrefix.set(`${route.method.toUpperCase()} ${basePath}${prefix}`, { route, name })
      }
    }
  }

  find({ method = '', url = '' }: IncomingMessage): { route: Route; target: Target } | undefined {
    const query = url.indexOf('?')
    const path = query < 0 ? url : url.slice(0, query)
    const search = query < 0 ? '' : url.slice(query + 1)
    const fixed = this.#fixed.get(`${method} ${path}`)
    if (fixed !== undefined) return { route: fixed, target: { path, params: {}, search } }
    const slash = path.lastIndexOf('/') + 1
    const found = this.#byPrefix.get(`${method} ${path.slice(0, slash)}`)
    const value = path.slice(slash)
    if (found === undefined || !SIMPLE_VALUE.test(value)) return undefined
    return { route: found.route, target: { path, params: { [found.name]: value }, search } }
  }
}
