import type { CommandContext } from './command-context.ts'
import { printTable } from './output.ts'

type Prices = Readonly<Record<string, unknown>>

/** Prices before and after a change; `after` is null if the prices of the configuration file apply again. */
export function printPrices(
  streams: CommandContext['streams'],
  { before, after }: { before: Prices; after: Prices | null },
): void {
  const names = new Set([...Object.keys(before), ...Object.keys(after ?? {})])
  printTable(
    streams,
    [...names].map((name) => ({
      price: name,
      before: toText(before[name]),
      after: after === null ? 'as configured' : toText(after[name]),
    })),
  )
}

function toText(price: unknown): string {
  if (price === undefined) return '-'
  const isAmount = typeof price === 'object' && price !== null && 'usd' in price
  return isAmount ? String(price.usd) : JSON.stringify(price)
}
