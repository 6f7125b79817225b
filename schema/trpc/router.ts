import { createHash, timingSafeEqual } from 'node:crypto'
import { createExpressMiddleware } from '@trpc/server/adapters/express'
import type { Handler } from 'express'
import { accountsRouter } from './accounts-router.ts'
import { keysRouter } from './keys-router.ts'
import { platformRouter } from './platform-router.ts'
import { type OperatorServices, router } from './trpc.ts'

const BODY_BYTES_MAX = 256 * 1024
const BATCH_CALLS_MAX = 20
const BEARER = /^Bearer +(\S+)\s*$/i

/** The operator surface. Money crosses as decimal strings, instants as ISO 8601 text. */
const appRouter = router({ accounts: accountsRouter, keys: keysRouter, platform: platformRouter })

export type AppRouter = typeof appRouter

/** Serves the operator surface to whoever sends `Authorization: Bearer <operator token>`. */
export function createTrpcMiddleware(services: OperatorServices, operatorToken: string): Handler {
  const expected = digest(operatorToken)
  return createExpressMiddleware({
    router: appRouter,
    maxBodySize: BODY_BYTES_MAX,
    maxBatchSize: BATCH_CALLS_MAX,
    createContext: ({ req }) => {
      const token = BEARER.exec(req.headers.authorization ?? '')?.[1] ?? ''
      // Digests have one length, so the comparison tells neither the token nor how long it is.
      return { services, authorized: timingSafeEqual(digest(token), expected) }
    },
    // An answer may hold a new key's secret.
    responseMeta: () => ({ headers: { 'Cache-Control': 'no-store' } }),
    onError: ({ error, path }) => {
      if (error.code === 'INTERNAL_SERVER_ERROR')
        services.log.error('operator call failed', { path, error: error.cause ?? error })
    },
  })
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
