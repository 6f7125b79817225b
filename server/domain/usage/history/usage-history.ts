import type { LedgerTransfer } from '../../ledger/ledger.ts'
import type { Currency } from '../../money.ts'
import type { RequestLine, RequestRecord } from '../../requests/request-record.ts'

/** One charged line of a request. The entries of a request add up to its charge exactly. */
export interface UsageHistoryEntry {
  chargedAt: Date
  currency: Currency
  /** Change of the account's balance, so a charge is negative. */
  amountNanoUsd: bigint
  requestId: string | null
  /** Null if the request's details have been deleted; the charge is then one entry. */
  detail: { request: RequestRecord; line: RequestLine } | null
}

export interface UsageHistoryPage {
  entries: UsageHistoryEntry[]
  /** Send only this to get the next page; null at the end. */
  nextCursor: string | null
}

/** The entries of one charge, in the order of the request's lines. */
export function toHistoryEntries(transfer: LedgerTransfer, request: RequestRecord | undefined): UsageHistoryEntry[] {
  const { createdAt: chargedAt, currency, requestId } = transfer
  const lines = request?.lines.filter(({ units, amountNanoUsd }) => units !== 0 || amountNanoUsd !== 0n) ?? []
  if (request === undefined || lines.length === 0) {
    return [{ chargedAt, currency, amountNanoUsd: transfer.amountNanoUsd, requestId, detail: null }]
  }
  return lines.map((line) => ({
    chargedAt,
    currency,
    amountNanoUsd: -line.amountNanoUsd,
    requestId,
    detail: { request, line },
  }))
}
