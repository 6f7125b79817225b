/**
 * Internally, money is always an integer number of nano-USD (1e-9) as bigint. Prices per million tokens are exact in
 * pico-USD (1e-12); a request's exact price is rounded only once, half up, to nano-USD. 1 DIEM equals 1 USD a day and
 * uses the same unit; 1 RPC credit is 625 nano-USD; 1 base unit of USDC is 1,000.
 */
export type Currency = 'usd' | 'diem'

export const NANO_USD_PER_USD = 1_000_000_000n
const PICO_USD_PER_NANO_USD = 1_000n

const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?$/

/**
 * Exact nano-USD of a decimal string or of a number's shortest decimal form; undefined if it is not a decimal or has more
 * than 9 decimals.
 */
export function parseUsd(value: string | number): bigint | undefined {
  return parseDecimal(value, 9)
}

/** Exact pico-USD per token of a price in USD per million tokens, which may have up to 6 decimals. */
export function parseUsdPerMillion(value: string | number): bigint | undefined {
  return parseDecimal(value, 6)
}

/** Decimal string without trailing zeros, up to 9 decimals: `1234500000n` is `"1.2345"`. */
export function formatUsd(amountNanoUsd: bigint): string {
  return formatDecimal(amountNanoUsd, 9).replace(/\.?0+$/, '')
}

/** Decimal string of an amount in pico-USD without trailing zeros, up to 12 decimals: the price of one token. */
export function formatPicoUsd(amountPicoUsd: bigint): string {
  return formatDecimal(amountPicoUsd, 12).replace(/\.?0+$/, '')
}

/** Decimal string with exactly `decimals` (0 to 9) decimals, rounded half up away from zero. */
export function formatUsdFixed(amountNanoUsd: bigint, decimals: number): string {
  const unit = 10n ** BigInt(9 - decimals)
  const magnitude = amountNanoUsd < 0n ? -amountNanoUsd : amountNanoUsd
  const rounded = (magnitude + unit / 2n) / unit
  const text = formatDecimal(rounded, decimals)
  return amountNanoUsd < 0n && rounded !== 0n ? `-${text}` : text
}

/** JSON number for wire fields; exact below 9,007,199 USD. */
export function toUsdNumber(amountNanoUsd: bigint): number {
  return Number(amountNanoUsd) / 1e9
}

/** Rounds half up: the only rounding of a request. */
export function roundPicoToNano(amountPicoUsd: bigint): bigint {
  return (amountPicoUsd + PICO_USD_PER_NANO_USD / 2n) / PICO_USD_PER_NANO_USD
}

function parseDecimal(value: string | number, decimals: number): bigint | undefined {
  const match = DECIMAL.exec(typeof value === 'number' ? plainDecimal(value) : value.trim())
  if (match === null) return undefined
  const [, sign = '', whole = '0', fraction = ''] = match
  if (fraction.replace(/0+$/, '').length > decimals) return undefined
  const magnitude = BigInt(whole + fraction.slice(0, decimals).padEnd(decimals, '0'))
  return sign === '-' ? -magnitude : magnitude
}

/** Numbers such as `1e-7` print in exponent form, but money needs plain digits. */
function plainDecimal(value: number): string {
  const text = String(value)
  if (!text.includes('e')) return text
  const fixed = value.toFixed(20)
  return Number(fixed) === value ? fixed.replace(/0+$/, '').replace(/\.$/, '') : text
}

function formatDecimal(amount: bigint, decimals: number): string {
  const negative = amount < 0n
  const digits = (negative ? -amount : amount).toString().padStart(decimals + 1, '0')
  const whole = digits.slice(0, digits.length - decimals)
  const text = decimals === 0 ? whole : `${whole}.${digits.slice(-decimals)}`
  return negative ? `-${text}` : text
}
