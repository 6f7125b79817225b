import type { AdmitItem, SettleItem } from './hold-repository.ts'

/**
 * Batches as PostgreSQL writes arrays of composite values. Its server reads them in a third of the time of JSON, which
 * would cost more than the decisions themselves.
 */
export function arrayText(elements: readonly string[]): string {
  return `{${elements.map(quoted).join(',')}}`
}

export function admissionText({ account_id, request_id, key_id, amount_nano, admitted_at }: AdmitItem): string {
  return `(${account_id},${request_id},${key_id ?? ''},${amount_nano},${admitted_at ?? ''})`
}

export function settlementText(item: SettleItem): string {
  const lines = (item.lines ?? []).map((line) => ({ ...line, type: toStorable(line.type) }))
  const priced = lines.map(({ type, units, amount }) => `(${quoted(type)},${units},${amount})`)
  const fields = [
    item.account_id,
    item.request_id,
    item.currency,
    item.day,
    item.charge_nano,
    item.transfer_id,
    optional(item.sku),
    optional(item.model_name),
    optional(item.model_type),
    optional(item.unit_type),
    item.lines === undefined ? '' : quoted(JSON.stringify(lines)),
    quoted(arrayText(priced)),
    optional(item.outcome),
    item.estimated ?? '',
    optional(item.upstream_id),
    item.retries ?? '',
    item.duration_ms ?? '',
  ]
  return `(${fields.join(',')})`
}

/** An absent field is null; an empty text is not. */
function optional(text: string | null | undefined): string {
  return text === null || text === undefined ? '' : quoted(toStorable(text))
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}

/** PostgreSQL stores no NUL and no half of a surrogate pair; a charge must not fail because a name contains one. */
function toStorable(text: string): string {
  return text.isWellFormed() && !text.includes('\0') ? text : text.toWellFormed().replaceAll('\0', '\uFFFD')
}
