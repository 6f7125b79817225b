import { DomainError } from '../server/domain/errors.ts'
import { beginExchange, type Incoming } from './begin-exchange.ts'
import { respondWithError } from './rejection.ts'

/** 400 for a path whose escapes are not UTF-8. */
export function rejectUnreadablePath(incoming: Incoming): void {
  respondWithError(
    beginExchange(incoming),
    new DomainError(
      'invalid_request',
      'The path is not valid: write each % as %25, and other characters as percent-encoded UTF-8',
    ),
  )
}

/** 404 for a path without a route; `path` is relative to the API's base path. */
export function rejectUnknownPath(incoming: Incoming, path: string): void {
  const { method } = incoming.request
  respondWithError(beginExchange(incoming), new DomainError('not_found', `${method} ${path} does not exist`))
}

/** 405 for a path that is served, but with other methods. */
export function rejectMethod(incoming: Incoming, allowed: readonly string[]): void {
  const exchange = beginExchange(incoming)
  exchange.setHeader('Allow', allowed.join(', '))
  const message = `${incoming.request.method} is not supported here; use ${allowed.join(' or ')}`
  respondWithError(exchange, new DomainError('method_not_allowed', message))
}
