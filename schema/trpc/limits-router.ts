import {
  AccountLimitsInput,
  ClearLimitsInput,
  ListRefusalsInput,
  SetLimitsInput,
} from '../../server/domain/rate-limits/inputs.ts'
import type { Refusal } from '../../server/domain/rate-limits/refusal.ts'
import { described } from '../../server/domain/validation/described.ts'
import { operatorProcedure, router } from './trpc.ts'

export const limitsRouter = router({
  /** The effective limits of an account, and those that an operator set for it and for its keys. */
  get: operatorProcedure
    .input(described(AccountLimitsInput))
    .query(({ ctx, input }) => ctx.services.limits.overrides.get(input.accountId)),

  /** Replaces the limits set for an account or, with `keyId`, for one of its keys. */
  set: operatorProcedure
    .input(described(SetLimitsInput))
    .mutation(({ ctx, input }) => ctx.services.limits.overrides.set(input)),

  clear: operatorProcedure
    .input(described(ClearLimitsInput))
    .mutation(({ ctx, input }) => ctx.services.limits.overrides.clear(input)),

  /** Rejected requests of one account or of all, newest first. */
  refusals: operatorProcedure.input(described(ListRefusalsInput.prefault({}))).query(async ({ ctx, input }) => {
    const { accountId, ...page } = input
    const { items, endCursor, hasNextPage } = await ctx.services.limits.refusals.listPage(accountId ?? null, page)
    return { refusals: items.map(toRefusalRecord), endCursor, hasNextPage }
  }),
})

function toRefusalRecord({ id, at, apiKeyId, ...refusal }: Refusal) {
  return { refusalId: id, ...refusal, keyId: apiKeyId, at: at.toISOString() }
}
