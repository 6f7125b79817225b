import type { WindowCharge, WindowDecision, WindowState, WindowStore } from '../../domain/rate-limits/window-store.ts'
import type { RedisClient } from './redis-client.ts'

/** Layout of the stored hashes; a new layout takes a new version, so that two releases can run side by side. */
const LAYOUT_VERSION = 'w1'

export interface RedisWindowStoreDeps {
  client: RedisClient
  /** Separates instances that share one server. */
  keyPrefix?: string
}

/**
 * Rate windows that all processes share. One script call per request; an account's windows share one hash slot.
 *
 * Time is the caller's, so clocks of processes may differ. A window takes the newest instant it has seen: a process
 * that lags books a little late, which refuses rather than admits. A process whose clock leads by more than a window
 * freezes the windows it touches; they expire by the server's own clock one window after the last booking, so the
 * harm ends by itself.
 */
export class RedisWindowStore implements WindowStore {
  readonly #client: RedisClient
  readonly #keyPrefix: string

  constructor(deps: RedisWindowStoreDeps) {
    this.#client = deps.client
    this.#keyPrefix = `${deps.keyPrefix ?? 'sluice'}:${LAYOUT_VERSION}`
  }

  async consume(charges: readonly WindowCharge[], nowMs: number): Promise<WindowDecision> {
    const reply = await this.#client.consumeWindows(this.#keys(charges), argumentsOf(charges, nowMs))
    const refusedBy = numberAt(reply, 0)
    const retryAtMs = numberAt(reply, 1)
    return {
      admitted: refusedBy === 0,
      refusedBy: refusedBy === 0 ? null : refusedBy - 1,
      retryAtMs: refusedBy === 0 || retryAtMs < 0 ? null : retryAtMs,
      consumedAtMs: numberAt(reply, 2),
      states: statesOf(charges, reply),
    }
  }

  async adjust(charges: readonly { charge: WindowCharge; delta: number }[], consumedAtMs: number): Promise<void> {
    const args = [String(consumedAtMs)]
    for (const { charge, delta } of charges) args.push(windowMs(charge), String(charge.buckets), String(delta))
    await this.#client.adjustWindows(this.#keys(charges.map(({ charge }) => charge)), args)
  }

  async peek(charges: readonly WindowCharge[], nowMs: number): Promise<WindowState[]> {
    return statesOf(charges, await this.#client.peekWindows(this.#keys(charges), argumentsOf(charges, nowMs)))
  }

  /** The connection belongs to whoever opened it. */
  close(): Promise<void> {
    return Promise.resolve()
  }

  #keys(charges: readonly WindowCharge[]): string[] {
    return charges.map(({ key, windowSeconds }) => {
      const colon = key.indexOf(':')
      const [place, rest] = colon < 0 ? [key, ''] : [key.slice(0, colon), key.slice(colon)]
      return `${this.#keyPrefix}:{${place}}${rest}:${windowSeconds}`
    })
  }
}

function argumentsOf(charges: readonly WindowCharge[], nowMs: number): string[] {
  const args = [String(Math.floor(nowMs))]
  for (const charge of charges) {
    args.push(String(charge.limit), windowMs(charge), String(charge.buckets), String(charge.weight))
  }
  return args
}

function windowMs(charge: WindowCharge): string {
  return String(charge.windowSeconds * 1000)
}

function statesOf(charges: readonly WindowCharge[], reply: number[]): WindowState[] {
  return charges.map(({ limit }, index) => ({
    limit,
    remaining: Math.max(0, limit - numberAt(reply, 3 + index * 2)),
    resetAtMs: numberAt(reply, 4 + index * 2),
  }))
}

function numberAt(reply: number[], index: number): number {
  const value = reply[index]
  if (value === undefined) throw new Error('the window script answered with too few numbers')
  return value
}
