import { formatUsd } from '../../server/domain/money.ts'
import { CorrectPaymentInput, ListPaymentsInput, ReconcilePaymentsInput } from '../../server/domain/payments/inputs.ts'
import type { Payment } from '../../server/domain/payments/payment.ts'
import { NANO_USD_PER_ATOMIC } from '../../server/domain/payments/payment-options.ts'
import { described } from '../../server/domain/validation/described.ts'
import { operatorProcedure, router } from './trpc.ts'

export const paymentsRouter = router({
  /** The problems of each chain's payments, and the number of payments in each state. */
  status: operatorProcedure.query(async ({ ctx }) => {
    const { networks, counts, unresolved, oldestUnresolvedAt } = await ctx.services.payments.operations.status()
    return {
      networks,
      counts: counts.map(({ network, state, payments, amountAtomic, oldestAt }) => ({
        network,
        state,
        payments,
        amountUsd: formatUsd(amountAtomic * NANO_USD_PER_ATOMIC),
        oldestAt: oldestAt.toISOString(),
      })),
      unresolved,
      oldestUnresolvedAt: oldestUnresolvedAt?.toISOString() ?? null,
    }
  }),

  /** Checks every payment that may still be paid now, and finishes those that can be finished. */
  reconcile: operatorProcedure
    .input(described(ReconcilePaymentsInput))
    .mutation(({ ctx }) => ctx.services.payments.operations.reconcile()),

  /** Takes back the credit of a payment whose transfer disappeared from the chain; a repeat changes nothing. */
  correct: operatorProcedure.input(described(CorrectPaymentInput)).mutation(async ({ ctx, input }) => {
    const correction = await ctx.services.payments.operations.correct(input)
    return {
      paymentId: correction.payment.id,
      accountId: correction.payment.accountId,
      creditedUsd: formatUsd(correction.creditedNanoUsd),
      correctedUsd: formatUsd(correction.correctedNanoUsd),
      outstandingUsd: formatUsd(correction.outstandingNanoUsd),
    }
  }),

  list: operatorProcedure.input(described(ListPaymentsInput.prefault({}))).query(async ({ ctx, input }) => {
    const { items, endCursor, hasNextPage } = await ctx.services.payments.operations.list(input)
    return { payments: items.map(toPaymentRecord), endCursor, hasNextPage }
  }),
})

function toPaymentRecord(payment: Payment) {
  const { signed, balanceAfterNanoUsd, correctedNanoUsd } = payment
  return {
    paymentId: payment.id,
    state: payment.state,
    network: signed.network,
    wallet: signed.payer.address,
    amountUsd: formatUsd(signed.amountAtomic * NANO_USD_PER_ATOMIC),
    transaction: payment.transactionId,
    reason: payment.reason,
    accountId: payment.accountId,
    balanceAfterUsd: balanceAfterNanoUsd === null ? null : formatUsd(balanceAfterNanoUsd),
    disappearedAt: payment.disappearedAt?.toISOString() ?? null,
    correctedUsd: correctedNanoUsd === null ? null : formatUsd(correctedNanoUsd),
    receivedAt: payment.receivedAt.toISOString(),
  }
}
