import type { LedgerTransfer } from '../../ledger/ledger.ts'
import type { Currency } from '../../money.ts'
import type { RequestLine, RequestRecord } from '../../requests/request-record.ts'

/** One charged line of a request. The entries of a request add up to its charge exactly. */
export interface UsageHistoryEntry {
  /** When it was charged. */
  chargedAt: Date
  currency: Currency
  /** Of the account: negative, since it was charged. */
  amountNanoUsd: bigint
  requestId: string | null
  /** Null when the request's details are no longer kept; the charge is then one entry. */
  detail: { request: RequestRecord; line: RequestLine } | null
}

export interface UsageHistoryPage {
  entries: UsageHistoryEntry[]
  /** To be sent alone for what follows; null at the end. */
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
