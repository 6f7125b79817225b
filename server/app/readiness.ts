import type { ReadinessCheck } from './health.ts'
import type { Infrastructure } from './infrastructure.ts'

/** How the lane of admissions and settlements does. */
export interface MoneyLaneHealth {
  /** How long the lane has been without progress while something waits for it; 0 while it moves. */
  stalledMs(): number
}

const STALLED_MS_MAX = 5_000

/** What has to answer before this process should get traffic; without Redis it serves on, limiting by itself. */
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

/** Those that ask while it runs share its result: a database that hangs must not collect the questions of a load balancer. */
function oneAtATime(check: () => Promise<unknown>): () => Promise<unknown> {
  let running: Promise<unknown> | undefined
  return () => {
    running ??= check().finally(() => {
      running = undefined
    })
    return running
  }
}
