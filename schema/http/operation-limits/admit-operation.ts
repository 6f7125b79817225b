import type { ServerResponse } from 'node:http'
import { DomainError } from '../../../server/domain/errors.ts'
import type { GraphQLContext } from '../../context.ts'

/** HTTP headers that show the window to a client. */
export const WINDOW_HEADERS = {
  limit: 'x-ratelimit-limit-requests',
  remaining: 'x-ratelimit-remaining-requests',
  reset: 'x-ratelimit-reset-requests',
  type: 'x-ratelimit-type',
} as const

/**
 * Takes one request from the account's management window, which the management routes of the REST API share: a query, a
 * mutation or the start of a subscription, over HTTP or on a socket. Fails with `rate_limited`. Callers without a
 * credential have no window.
 */
export async function admitOperation(
  { caller, services }: GraphQLContext,
  response: ServerResponse | undefined,
): Promise<void> {
  if (caller === null) return
  const { rateLimits, ratePlans } = services.limits
  const plan = ratePlans.planForManagement(caller)
  response?.setHeader(WINDOW_HEADERS.type, plan.scope)
  try {
    const { requests } = await rateLimits.admit(plan)
    setWindow(response, requests)
  } catch (error) {
    if (error instanceof DomainError && error.limit !== undefined) setWindow(response, error.limit)
    throw error
  }
}

interface Window {
  limit: number
  remaining: number
  resetAtMs: number
}

function setWindow(response: ServerResponse | undefined, { limit, remaining, resetAtMs }: Window): void {
  response?.setHeader(WINDOW_HEADERS.limit, limit)
  response?.setHeader(WINDOW_HEADERS.remaining, remaining)
  response?.setHeader(WINDOW_HEADERS.reset, Math.ceil(resetAtMs / 1_000))
}
