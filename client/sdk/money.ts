const DECIMALS = 9
const FORM = /^(-?)(\d+)(?:\.(\d{1,9}))?$/

/**
 * An exact amount in nano-USD, a billionth of a USD (or of a DIEM). Accepts a decimal string with up to 9 decimals, or
 * a number from a JSON response, which is exact up to 4 million USD. Throws a RangeError for anything else.
 *
 * @example toNanoUsd('1.2345') === 1_234_500_000n
 */
export function toNanoUsd(amount: string | number): bigint {
  const text = typeof amount === 'number' ? amount.toFixed(DECIMALS) : amount
  const [, sign, whole, fraction = ''] = FORM.exec(text) ?? []
  if (whole === undefined) throw new RangeError(`${amount} is not an amount with up to ${DECIMALS} decimals`)
  const nano = BigInt(whole + fraction.padEnd(DECIMALS, '0'))
  return sign === '-' ? -nano : nano
}

/**
 * The shortest exact decimal string of an amount.
 *
 * @example formatNanoUsd(1_234_500_000n) === '1.2345'
 */
export function formatNanoUsd(amountNanoUsd: bigint): string {
  const digits = (amountNanoUsd < 0n ? -amountNanoUsd : amountNanoUsd).toString().padStart(DECIMALS + 1, '0')
  const fraction = digits.slice(-DECIMALS).replace(/0+$/, '')
  const whole = `${amountNanoUsd < 0n ? '-' : ''}${digits.slice(0, -DECIMALS)}`
  return fraction === '' ? whole : `${whole}.${fraction}`
}
