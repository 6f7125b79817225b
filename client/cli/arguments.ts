import { InvalidArgumentError } from 'commander'

const AMOUNT = /^\d+(\.\d{1,9})?$/

/** A decimal amount, kept as text because a number would lose nano-dollars. */
export function parseAmount(text: string): string {
  if (AMOUNT.test(text)) return text
  throw new InvalidArgumentError('It must be a decimal number with at most 9 decimals, such as 12.5.')
}

/** An amount that may be negative. */
export function parseSignedAmount(text: string): string {
  return text.startsWith('-') ? `-${parseAmount(text.slice(1))}` : parseAmount(text)
}

/** A whole number of rows to print. */
export function parseLimit(text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a whole number from 1 to 999999.')
}

/** An instant with its time zone, in ISO 8601. */
export function parseInstant(text: string): string {
  if (/T.*(Z|[+-]\d\d:\d\d)$/.test(text) && !Number.isNaN(Date.parse(text))) return new Date(text).toISOString()
  throw new InvalidArgumentError('It must be a time with its zone, such as 2027-01-01T00:00:00Z.')
}
