import type { ReadinessCheck } from './health.ts'
import type { Infrastructure } from './infrastructure.ts'

/** Health of the lane for admissions and settlements. */
export interface MoneyLaneHealth {
  /** How long the lane has made no progress while work waits for it; 0 while it moves. */
  stalledMs(): number
}

const STALLED_MS_MAX = 5_000

/**
 * The parts that must respond before this process receives traffic; without Redis it still serves and limits by itself.
 */
export function readinessChecks(
  { checkDatabase, isStoreDegraded }: Infrastructure,
  lane: MoneyLaneHealth,
): ReadinessCheck[] {
  return [
    { name: 'database', required: true, check: oneAtATime(checkDatabase) },
    { name: 'moneyLane', required: true, check: () => failIf(lane.stalledMs() > STALLED_MS_MAX) },
    { name: 'sharedLimits', required: false, check: () => failIf(isStoreDegraded()) },
  ]
}

function failIf(isFailed: boolean): Promise<void> {
  return isFailed ? Promise.reject(new Error('failed')) : Promise.resolve()
}

/** Concurrent callers share one result, so a load balancer's checks do not pile up while a database hangs. */
function oneAtATime(check: () => Promise<unknown>): () => Promise<unknown> {
  let running: Promise<unknown> | undefined
  return () => {
    running ??= check().finally(() => {
      running = undefined
    })
    return running
  }
}
