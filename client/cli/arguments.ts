import { InvalidArgumentError } from 'commander'

const AMOUNT = /^\d+(\.\d{1,9})?$/

/** A decimal amount; it stays text, since a number would lose nano-dollars. */
export function parseAmount(text: string): string {
  if (AMOUNT.test(text)) return text
  throw new InvalidArgumentError('It must be a decimal number with at most 9 decimals, such as 12.5.')
}

/** An amount that may be negative. */
export function parseSignedAmount(text: string): string {
  return text.startsWith('-') ? `-${parseAmount(text.slice(1))}` : parseAmount(text)
}
