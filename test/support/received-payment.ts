/** What nobody knows yet of a payment that was just received. */
export const RECEIVED_PAYMENT = {
  digest: 'digest',
  transactionId: null,
  submittedTransactionIds: [],
  transferIndex: null,
  transferAtomic: null,
  reason: null,
  accountId: null,
  balanceAfterNanoUsd: null,
  idempotencyKey: null,
  looks: 0,
  clientNetwork: null,
  disappearedAt: null,
  rechecks: 0,
  missingChecks: 0,
  correctedNanoUsd: null,
}
