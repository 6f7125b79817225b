import { z } from 'zod'
import { operatorProcedure, router } from './trpc.ts'

const DoctorInput = z
  .strictObject({ publicNodes: z.boolean().default(false).describe('Also ask the nodes that nobody configured') })
  .prefault({})

export const platformRouter = router({
  /** Checks the invariants of the money path over the whole database. */
  verify: operatorProcedure.query(({ ctx }) => ctx.services.ledger.verify()),

  /** Asks every node which chain it serves; not ok when one serves another chain, which is then out of service. */
  doctor: operatorProcedure.input(DoctorInput).query(async ({ ctx, input }) => {
    const nodes = await ctx.services.rpcNodes.inspect({ publicNodes: input.publicNodes })
    return { ok: nodes.every(({ status }) => status !== 'mismatch'), nodes }
  }),
})
