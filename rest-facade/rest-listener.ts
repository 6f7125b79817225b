import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Services } from '../server/domain/services.ts'
import { CrossOriginCalls } from './cross-origin.ts'
import { rejectMethod, rejectUnknownPath, rejectUnreadablePath } from './not-served.ts'
import { isBelow, isReadable, readRequestTarget } from './request-target.ts'
import type { Route } from './route.ts'
import { RouteMatcher } from './route-matcher.ts'
import { serveRoute } from './serve-route.ts'

const BASE_PATH = '/api/v1'

/** Serves a request of the REST API; returns false for paths of other fronts. */
export type RestListener = (request: IncomingMessage, response: ServerResponse) => boolean

/** Serves the table of routes below `/api/v1`: preflights first, then the route of the path. */
export function createRestListener(routes: readonly Route[], services: Services): RestListener {
  const matcher = new RouteMatcher(BASE_PATH, routes)
  const crossOrigin = new CrossOriginCalls(routes, services)
  return (request, response) => {
    const { path, search } = readRequestTarget(request.url ?? '')
    if (!isBelow(BASE_PATH, path)) return false
    if (crossOrigin.answer(request, response)) return true
    const incoming = { request, response, services, target: { path, search, params: {} } }
    if (!isReadable(path)) {
      rejectUnreadablePath(incoming)
      return true
    }
    const match = matcher.match(request.method ?? '', path)
    if (match === undefined) rejectUnknownPath(incoming, BASE_PATH + (path.slice(BASE_PATH.length) || '/'))
    else if ('allowed' in match) rejectMethod(incoming, match.allowed)
    else void serveRoute(match.route, { ...incoming, target: { path, search, params: match.params } })
    return true
  }
}
