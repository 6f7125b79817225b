import type { PaymentRow } from '../../db/tables/payments-table.ts'
import type { Payment } from './payment.ts'
import type { PaymentWire } from './payment-network.ts'

export function toPayment(row: PaymentRow): Payment {
  return {
    id: row.payment_id,
    state: row.state,
    signed: {
      network: row.network,
      payer: { chain: row.payer_chain, address: row.payer_address },
      asset: row.asset,
      payTo: row.pay_to,
      amountAtomic: row.amount_atomic,
      claimKey: row.claim_key,
      nonceKey: row.nonce_key,
      validUntil: row.valid_until,
      wire: JSON.parse(row.wire) as PaymentWire,
    },
    digest: row.digest,
    transactionId: row.transaction_id,
    submittedTransactionIds: row.told_transaction_ids,
    transferIndex: row.transfer_index,
    transferAtomic: row.transfer_atomic,
    reason: row.reason,
    accountId: row.account_id,
    balanceAfterNanoUsd: row.balance_after_nano,
    idempotencyKey: row.idempotency_key,
    receivedAt: row.received_at,
    looks: row.looks,
    clientNetwork: row.client_network,
    disappearedAt: row.disappeared_at,
    rechecks: row.rechecks,
    missingChecks: row.missing_checks,
    correctedNanoUsd: row.corrected_nano,
  }
}

export function toRow(payment: Payment, { now, checkAt }: { now: Date; checkAt: Date | null }): PaymentRow {
  const { signed } = payment
  return {
    payment_id: payment.id,
    network: signed.network,
    claim_key: signed.claimKey,
    nonce_key: signed.nonceKey,
    state: payment.state,
    payer_chain: signed.payer.chain,
    payer_address: signed.payer.address,
    asset: signed.asset,
    pay_to: signed.payTo,
    amount_atomic: signed.amountAtomic,
    valid_until: signed.validUntil,
    wire: JSON.stringify(signed.wire),
    digest: payment.digest,
    transaction_id: payment.transactionId,
    told_transaction_ids: [...payment.submittedTransactionIds],
    transfer_index: payment.transferIndex,
    transfer_atomic: payment.transferAtomic,
    reason: payment.reason,
    account_id: payment.accountId,
    balance_after_nano: payment.balanceAfterNanoUsd,
    idempotency_key: payment.idempotencyKey,
    received_at: payment.receivedAt,
    updated_at: now,
    look_at: checkAt,
    looks: payment.looks,
    client_network: payment.clientNetwork,
    recheck_at: null,
    rechecks: payment.rechecks,
    missing_checks: payment.missingChecks,
    disappeared_at: payment.disappearedAt,
    corrected_nano: payment.correctedNanoUsd,
    corrected_at: null,
  }
}
