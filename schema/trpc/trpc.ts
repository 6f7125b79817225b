import { initTRPC, TRPCError } from '@trpc/server'
import { toDatabaseUnavailable } from '../../server/domain/database-failure.ts'
import { DomainError } from '../../server/domain/errors.ts'
import type { Services } from '../../server/domain/services.ts'
import { TRPC_CODES, toErrorFacts } from './errors.ts'

/** The part of the services that the operator surface calls. */
export type OperatorServices = Pick<Services, 'accounts' | 'apiKeys' | 'ledger' | 'log'> & {
  rpcNodes: Pick<Services['rpcNodes'], 'inspect'>
}

export interface OperatorContext {
  services: OperatorServices
  /** Whether the request carried the operator token. */
  authorized: boolean
}

const t = initTRPC.context<OperatorContext>().create({
  // Its default, a look at NODE_ENV, would put stack traces into answers.
  isDev: false,
  errorFormatter: ({ shape, error, path }) => {
    const { message, domainCode, details } = toErrorFacts(error)
    return {
      ...shape,
      message,
      data: { code: shape.data.code, httpStatus: shape.data.httpStatus, path, domainCode, details },
    }
  },
})

export const router = t.router

/** A procedure that only the operator token opens. */
export const operatorProcedure = t.procedure.use(async ({ ctx, next }) => {
  if (!ctx.authorized) {
    throw new TRPCError({
      code: 'UNAUTHORIZED',
      message: 'Authentication failed: send the header "Authorization: Bearer <operator token>"',
    })
  }
  const result = await next()
  if (result.ok) return result
  const cause = toDatabaseUnavailable(result.error.cause) ?? result.error.cause
  if (cause instanceof DomainError) throw new TRPCError({ code: TRPC_CODES[cause.code], message: cause.message, cause })
  return result
})
