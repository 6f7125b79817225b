import { ListActionsInput } from '../../server/domain/audit/inputs.ts'
import type { OperatorAction } from '../../server/domain/audit/operator-action.ts'
import { described } from '../../server/domain/validation/described.ts'
import { operatorProcedure, router } from './trpc.ts'

export const auditRouter = router({
  /** Actions of operators, newest first. */
  list: operatorProcedure.input(described(ListActionsInput.prefault({}))).query(async ({ ctx, input }) => {
    const { items, endCursor, hasNextPage } = await ctx.services.operations.audit.list(input)
    return { actions: items.map(toActionRecord), endCursor, hasNextPage }
  }),
})

function toActionRecord({ id, startedAt, finishedAt, input, ...action }: OperatorAction) {
  return {
    actionId: id,
    ...action,
    input: JSON.stringify(input),
    startedAt: startedAt.toISOString(),
    finishedAt: finishedAt?.toISOString() ?? null,
  }
}
