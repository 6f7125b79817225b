/** Required confirmations of a transfer before it is credited, for amounts up to a bound. */
export interface ConfirmationStep {
  upToUsd: number
  confirmations: number
}

const ATOMIC_PER_USD = 1_000_000

/** One number for every amount, or steps in any order; amounts above all steps need the most. */
export function confirmationsFor(required: number | readonly ConfirmationStep[], amountAtomic: bigint): bigint {
  if (typeof required === 'number') return BigInt(required)
  const usd = Number(amountAtomic) / ATOMIC_PER_USD
  const fitting = required.filter(({ upToUsd }) => usd <= upToUsd)
  const counts = fitting.map(({ confirmations }) => confirmations)
  const most = Math.max(1, ...required.map(({ confirmations }) => confirmations))
  return BigInt(counts.length === 0 ? most : Math.min(...counts))
}
