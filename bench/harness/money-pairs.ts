import type { KeyCaller } from '../../server/domain/caller.ts'
import { type MoneyHarness, usageOf } from '../../test/support/money-harness.ts'

const HOLD_NANO_USD = 50_000n
const CHARGE_NANO_USD = 12_345n

export interface PairsOptions {
  callers: readonly KeyCaller[]
  inFlight: number
  seconds: number
}

/** Admits and settles for the callers in turn; returns the milliseconds of each pair. */
export async function runPairs(harness: MoneyHarness, { callers, inFlight, seconds }: PairsOptions): Promise<number[]> {
  const untilMs = performance.now() + seconds * 1_000
  const latenciesMs: number[] = []
  const worker = async (offset: number) => {
    for (let turn = offset; performance.now() < untilMs; turn += inFlight) {
      const caller = callers[turn % callers.length]
      if (caller === undefined) return
      const startMs = performance.now()
      const request = await harness.open(caller, HOLD_NANO_USD)
      await request.settle(usageOf(CHARGE_NANO_USD))
      latenciesMs.push(performance.now() - startMs)
    }
  }
  await Promise.all(Array.from({ length: inFlight }, (_, offset) => worker(offset)))
  return latenciesMs
}
