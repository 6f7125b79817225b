import { operatorProcedure, router } from './trpc.ts'

export const platformRouter = router({
  /** Checks the invariants of the money path over the whole database. */
  verify: operatorProcedure.query(({ ctx }) => ctx.services.ledger.verify()),
})
