import { z } from 'zod'
import { formatUsdFixed, toUsdNumber } from '../../server/domain/money.ts'
import type { RequestLine, RequestRecord } from '../../server/domain/requests/request-record.ts'
import type { UsageHistoryEntry } from '../../server/domain/usage/history/usage-history.ts'

/** Lines counted in tokens are priced per million. */
const TOKENS_PER_UNIT = 1_000_000
const SINGULAR: Record<RequestRecord['unitType'], string> = {
  tokens: 'mtoken',
  images: 'unit',
  chars: 'char',
  minutes: 'minute',
  seconds: 'second',
  credits: 'credit',
}

const InferenceDetails = z.object({
  requestId: z.string(),
  promptTokens: z.number().nullable(),
  completionTokens: z.number().nullable(),
  inferenceExecutionTime: z.number().nullable(),
})

/** One entry in the public API's form; `amount` is negative, because it left the balance. */
const HistoryEntry = z.object({
  timestamp: z.iso.datetime(),
  amount: z.number(),
  currency: z.enum(['USD', 'DIEM']),
  sku: z.string(),
  units: z.number(),
  pricePerUnitUsd: z.number(),
  notes: z.string(),
  inferenceDetails: InferenceDetails.nullable(),
})

export const UsageHistoryPage = z.object({ data: z.array(HistoryEntry), nextCursor: z.string().nullable() })

export function toHistoryEntry(entry: UsageHistoryEntry): z.output<typeof HistoryEntry> {
  const { chargedAt, currency, amountNanoUsd, requestId, detail } = entry
  const common = {
    timestamp: chargedAt.toISOString(),
    amount: toUsdNumber(amountNanoUsd),
    currency: currency === 'usd' ? ('USD' as const) : ('DIEM' as const),
  }
  if (detail === null) {
    return {
      ...common,
      sku: 'usage',
      units: 1,
      pricePerUnitUsd: toUsdNumber(-amountNanoUsd),
      notes: 'Details have been deleted',
      inferenceDetails: toDetails(requestId, null),
    }
  }
  const { request, line } = detail
  const units = request.unitType === 'tokens' ? line.units / TOKENS_PER_UNIT : line.units
  return {
    ...common,
    sku: toSku(request, line),
    units,
    pricePerUnitUsd: toPrice(request, line),
    notes: request.unitType === 'credits' ? line.type : 'API Inference',
    inferenceDetails: toDetails(requestId, request),
  }
}

function toSku({ sku, unitType }: RequestRecord, { type }: RequestLine): string {
  if (unitType === 'credits') return sku
  if (unitType === 'images') return `${sku}-image-unit`
  const kind = type.toLowerCase().replaceAll(' ', '-')
  return unitType === 'tokens' ? `${sku}-llm-${kind}-mtoken` : `${sku}-${kind}-${SINGULAR[unitType]}`
}

/** The published price, or else the average price of the units. */
function toPrice({ unitType }: RequestRecord, { unitPriceUsd, units, amountNanoUsd }: RequestLine): number {
  const perUnit = unitType === 'tokens' ? TOKENS_PER_UNIT : 1
  const exact = unitPriceUsd === null ? toUsdNumber(amountNanoUsd) / (units === 0 ? 1 : units) : Number(unitPriceUsd)
  return Number((exact * perUnit).toPrecision(12))
}

function toDetails(requestId: string | null, request: RequestRecord | null) {
  if (requestId === null) return null
  const tokensOf = (...types: string[]): number | null => {
    if (request?.unitType !== 'tokens') return null
    return request.lines.filter(({ type }) => types.includes(type)).reduce((sum, { units }) => sum + units, 0)
  }
  return {
    requestId,
    promptTokens: tokensOf('Input', 'Cache Read', 'Cache Write'),
    completionTokens: tokensOf('Output'),
    inferenceExecutionTime: request?.durationMs ?? null,
  }
}

const COLUMNS = [
  'timestamp',
  'sku',
  'pricePerUnitUsd',
  'units',
  'amount',
  'currency',
  'notes',
  'inferenceDetails.requestId',
  'inferenceDetails.inferenceExecutionTime',
  'inferenceDetails.promptTokens',
  'inferenceDetails.completionTokens',
]

/**
 * The same entries as CSV (RFC 4180); amounts have all their decimals, because spreadsheets read exponents differently.
 */
export function toHistoryCsv(entries: readonly UsageHistoryEntry[]): string {
  const lines = entries.map((entry) => {
    const body = toHistoryEntry(entry)
    const details = body.inferenceDetails
    return [
      body.timestamp,
      toText(body.sku),
      toPlain(body.pricePerUnitUsd),
      toPlain(body.units),
      formatUsdFixed(entry.amountNanoUsd, 9),
      body.currency,
      toText(body.notes),
      details?.requestId ?? '',
      details?.inferenceExecutionTime ?? '',
      details?.promptTokens ?? '',
      details?.completionTokens ?? '',
    ].join(',')
  })
  return `${[COLUMNS.join(','), ...lines].join('\r\n')}\r\n`
}

/** Escapes a text that a spreadsheet would run as a formula. */
function toText(text: string): string {
  const shown = /^[=+\-@\t\r\n]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(shown) ? `"${shown.replaceAll('"', '""')}"` : shown
}

function toPlain(value: number): string {
  const text = String(value)
  return text.includes('e') ? value.toFixed(12).replace(/\.?0+$/, '') : text
}
