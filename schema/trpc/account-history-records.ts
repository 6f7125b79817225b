import type { LedgerTransfer } from '../../server/domain/ledger/ledger.ts'
import { formatUsd } from '../../server/domain/money.ts'
import type { RequestRecord } from '../../server/domain/requests/request-record.ts'

/** One transfer for the operator; `amount` is signed from the customer's side, in units of `currency`. */
export function toTransferRecord(transfer: LedgerTransfer) {
  return {
    transferId: transfer.id,
    currency: transfer.currency,
    sequence: transfer.sequence.toString(),
    kind: transfer.kind,
    amount: formatUsd(transfer.amountNanoUsd),
    balanceAfter: formatUsd(transfer.balanceAfterNanoUsd),
    requestId: transfer.requestId,
    reference: transfer.reference,
    reason: transfer.reason,
    createdAt: transfer.createdAt.toISOString(),
  }
}

export function toRequestRecord(request: RequestRecord) {
  return {
    requestId: request.requestId,
    keyId: request.keyId,
    sku: request.sku,
    modelName: request.modelName,
    outcome: request.outcome,
    currency: request.currency,
    hold: formatUsd(request.holdNanoUsd),
    charge: formatUsd(request.chargeNanoUsd),
    lines: request.lines.map(({ type, units, amountNanoUsd }) => ({ type, units, amount: formatUsd(amountNanoUsd) })),
    estimated: request.estimated,
    upstreamId: request.upstreamId,
    retries: request.retries,
    durationMs: request.durationMs,
    admittedAt: request.admittedAt.toISOString(),
    settledAt: request.settledAt.toISOString(),
  }
}
