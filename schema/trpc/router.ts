import { createExpressMiddleware } from '@trpc/server/adapters/express'
import type { Handler, Request, Response } from 'express'
import { DomainError } from '../../server/domain/errors.ts'
import type { OperatorAccess } from '../../server/domain/operators/operator-access.ts'
import type { Services } from '../../server/domain/services.ts'
import { accountsRouter } from './accounts-router.ts'
import { auditRouter } from './audit-router.ts'
import { catalogueRouter } from './catalogue-router.ts'
import { keysRouter } from './keys-router.ts'
import { limitsRouter } from './limits-router.ts'
import { paymentsRouter } from './payments-router.ts'
import { platformRouter } from './platform-router.ts'
import { type OperatorContext, router } from './trpc.ts'

const BODY_BYTES_MAX = 256 * 1024
const BATCH_CALLS_MAX = 20

/** The operator surface. Money crosses as decimal strings, instants as ISO 8601 text. */
export const appRouter = router({
  accounts: accountsRouter,
  audit: auditRouter,
  catalogue: catalogueRouter,
  keys: keysRouter,
  limits: limitsRouter,
  payments: paymentsRouter,
  platform: platformRouter,
})

export type AppRouter = typeof appRouter

/** Serves the operator surface to callers with `Authorization: Bearer <operator token>`. */
export function createTrpcMiddleware(services: Services, access: OperatorAccess): Handler {
  const serve = createExpressMiddleware({
    router: appRouter,
    maxBodySize: BODY_BYTES_MAX,
    maxBatchSize: BATCH_CALLS_MAX,
    createContext: ({ req, res }) => createContext(services, access, { request: req, response: res }),
    // A response may contain a new key's secret.
    responseMeta: ({ errors }) => ({ headers: { 'Cache-Control': 'no-store', ...retryAfterOf(errors) } }),
    onError: ({ error, path, ctx }) => {
      if (error.code !== 'INTERNAL_SERVER_ERROR') return
      services.log.error('operator call failed', {
        path,
        requestId: ctx?.requestId,
        error: error.cause ?? error,
      })
    },
  })
  return (request, response, next) => {
    // Before anything can be rejected, so every response names its request.
    const requestId = services.ids.requestId()
    response.setHeader('CF-RAY', requestId)
    response.setHeader('X-Request-ID', requestId)
    serve(request, response, next)
  }
}

function createContext(
  services: Services,
  access: OperatorAccess,
  { request, response }: { request: Request; response: Response },
): OperatorContext {
  const requestId = String(response.getHeader('CF-RAY'))
  const common = { services, requestId }
  try {
    return {
      ...common,
      operator: access.identify(request.headers.authorization, services.clientAddresses.of(request)),
    }
  } catch (error) {
    if (error instanceof DomainError) return { ...common, operator: error }
    throw error
  }
}

function retryAfterOf(errors: readonly Error[]): Record<string, string> {
  const causes = errors.map(({ cause }) => cause).filter((cause) => cause instanceof DomainError)
  const seconds = causes.flatMap(({ retryAfterSeconds }) => retryAfterSeconds ?? [])
  return seconds.length === 0 ? {} : { 'Retry-After': String(Math.max(...seconds)) }
}
