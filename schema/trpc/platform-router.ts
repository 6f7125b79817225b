import { z } from 'zod'
import type { UpstreamSummary } from '../../server/domain/upstream-record.ts'
import { described } from '../../server/domain/validation/described.ts'
import { operatorProcedure, router } from './trpc.ts'

const DoctorInput = z
  .strictObject({ publicNodes: z.boolean().default(false).describe('Also check public nodes that are not configured') })
  .prefault({})

const VerifyPartInput = z
  .strictObject({
    cursor: z
      .string()
      .min(1)
      .max(4_096)
      .nullable()
      .default(null)
      .describe('Cursor of the previous part; null for the first part'),
  })
  .prefault({})

export const platformRouter = router({
  /** Checks the invariants of the money path over the whole database. */
  verify: operatorProcedure.query(({ ctx }) => ctx.services.money.ledger.verify()),

  /** The same in parts of a few seconds: each call continues at the cursor that the previous one returned. */
  verifyPart: operatorProcedure
    .input(described(VerifyPartInput))
    .query(({ ctx, input }) => ctx.services.money.ledger.verifyPart(input.cursor)),

  /** A summary of the health of this process and its dependencies. */
  health: operatorProcedure.query(async ({ ctx }) => {
    const { processes, providers, nodes, ...rest } = await ctx.services.operations.platform.health()
    return {
      ...rest,
      processes: processes.map((process) => ({ ...process, startedAt: process.startedAt.toISOString() })),
      providers: providers.map(withInstants),
      nodes: nodes.map(withInstants),
    }
  }),

  /** Checks the database, the shared store and interrupted work, and asks every node which chain it serves. */
  doctor: operatorProcedure
    .input(described(DoctorInput))
    .query(({ ctx, input }) => ctx.services.operations.platform.diagnose(input)),
})

function withInstants<Health extends UpstreamSummary>(health: Health) {
  return {
    ...health,
    lastSuccessAt: health.lastSuccessAt?.toISOString() ?? null,
    lastFailureAt: health.lastFailureAt?.toISOString() ?? null,
  }
}
