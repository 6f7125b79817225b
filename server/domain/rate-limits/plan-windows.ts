import { itemAt } from '../item-at.ts'
import type { KeyWindows, RatePlan } from './rate-plan.ts'
import type { WindowCharge, WindowState } from './window-store.ts'

const NAMES = ['requests', 'tokens', 'credits'] as const
export type WindowName = (typeof NAMES)[number]

export interface PlanWindow {
  name: WindowName
  charge: WindowCharge
  /** True for the API key's window, false for the account's. */
  perKey: boolean
}

/** All windows of a plan in the store's order: the account's, then the key's. */
export function windowsOf(plan: RatePlan): PlanWindow[] {
  const windows = present(plan, false)
  return plan.keyWindows === undefined ? windows : [...windows, ...present(plan.keyWindows, true)]
}

function present(plan: RatePlan | KeyWindows, perKey: boolean): PlanWindow[] {
  const windows: PlanWindow[] = []
  for (const name of NAMES) {
    const charge = plan[name]
    if (charge !== null) windows.push({ name, charge, perKey })
  }
  return windows
}

export interface WindowStates {
  requests: WindowState
  tokens: WindowState | null
  credits: WindowState | null
}

/** One state per kind of window, from the store's states in the order of the windows. */
export function statesOf(windows: readonly PlanWindow[], states: readonly WindowState[]): WindowStates {
  // Every plan begins with its requests window.
  let requests = itemAt(states, 0)
  let tokens: WindowState | null = null
  let credits: WindowState | null = null
  for (const [index, { name }] of windows.entries()) {
    const state = itemAt(states, index)
    if (name === 'requests') requests = tighter(requests, state)
    else if (name === 'tokens') tokens = tighter(tokens, state)
    else credits = tighter(credits, state)
  }
  return { requests, tokens, credits }
}

/** A request must pass both windows, so the result has the smaller remainder and the later reset. */
function tighter(first: WindowState | null, second: WindowState): WindowState {
  if (first === null) return second
  const { limit, remaining, nowMs } = second.remaining < first.remaining ? second : first
  return { limit, remaining, nowMs, resetAtMs: Math.max(first.resetAtMs, second.resetAtMs) }
}
