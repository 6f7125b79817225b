import { initTRPC, TRPCError } from '@trpc/server'
import type { ActionEnding } from '../../server/domain/audit/operator-action.ts'
import { toDatabaseUnavailable } from '../../server/domain/database-failure.ts'
import { DomainError } from '../../server/domain/errors.ts'
import type { Services } from '../../server/domain/services.ts'
import { TRPC_CODES, toErrorFacts } from './errors.ts'

export interface OperatorContext {
  services: Services
  /** Name of the operator whose token the request carried, or the reason why it was rejected. */
  operator: string | DomainError
  /** The same as in `CF-RAY`, the log and the audit log. */
  requestId: string
}

const t = initTRPC.context<OperatorContext>().create({
  // tRPC's default depends on NODE_ENV and would put stack traces into responses.
  isDev: false,
  errorFormatter: ({ shape, error, path, input, ctx }) => {
    const { message, domainCode, details } = toErrorFacts(error, input)
    const { code, httpStatus } = shape.data
    return { ...shape, message, data: { code, httpStatus, path, domainCode, details, requestId: ctx?.requestId } }
  },
})

export const router = t.router

/** A domain error with its tRPC code, including one caused by an unavailable database; other errors unchanged. */
function translate(error: TRPCError): TRPCError {
  const cause = toDatabaseUnavailable(error.cause) ?? error.cause
  return cause instanceof DomainError ? toTrpcError(cause) : error
}

function toTrpcError(cause: DomainError): TRPCError {
  return new TRPCError({ code: TRPC_CODES[cause.code], message: cause.message, cause })
}

function endingOf(error: TRPCError, input: unknown): ActionEnding {
  const translated = translate(error)
  const { message, domainCode } = toErrorFacts(translated, input)
  const ourFault = translated.code === 'INTERNAL_SERVER_ERROR' || translated.code === 'SERVICE_UNAVAILABLE'
  return {
    outcome: ourFault ? 'failed' : 'refused',
    errorCode: domainCode ?? translated.code.toLowerCase(),
    errorMessage: message,
  }
}

/**
 * A procedure that requires an operator's token. All procedures are built from this one, so every mutation, including
 * future ones, is recorded in the audit log, even if its input is rejected.
 */
export const operatorProcedure = t.procedure
  .use(async ({ next }) => {
    const result = await next()
    if (result.ok) return result
    throw translate(result.error)
  })
  .use(async ({ ctx, type, path, getRawInput, next }) => {
    const { operator, services, requestId } = ctx
    if (operator instanceof DomainError) throw toTrpcError(operator)
    const inner = { ctx: { operator } }
    if (type !== 'mutation') return next(inner)
    const input = await getRawInput()
    const finish = await services.operations.audit.begin({ actor: operator, action: path, input, requestId })
    const result = await next(inner)
    await finish(result.ok ? { outcome: 'done', answer: result.data } : endingOf(result.error, input))
    return result
  })
