import { DomainError } from '../errors.ts'
import { itemAt } from '../item-at.ts'
import { networkOf } from './network-of.ts'
import type { WindowStore } from './window-store.ts'

export interface AddressLimitDeps {
  store: Pick<WindowStore, 'consume'>
  /** The counted things, in the plural; also the name of the window. */
  what: string
  perMinute: number
  advice: string
}

/** Limits one network address per minute, for requests without authentication. */
export class AddressLimit {
  readonly #deps: AddressLimitDeps

  constructor(deps: AddressLimitDeps) {
    this.#deps = deps
  }

  /** Fails with `rate_limited`. */
  async admit(address: string): Promise<void> {
    const { store, what, perMinute: limit, advice } = this.#deps
    const window = { key: `ip:${networkOf(address)}:${what}`, windowSeconds: 60, buckets: 61, limit, weight: 1 }
    const { admitted, states, retryAtMs } = await store.consume([window])
    if (admitted) return
    const state = itemAt(states, 0)
    const retryAfterSeconds = Math.max(1, Math.ceil(((retryAtMs ?? 0) - state.nowMs) / 1_000))
    const rule = `Rate limit exceeded: ${limit} ${what} per minute from one address.`
    throw new DomainError('rate_limited', `${rule} ${advice} in ${retryAfterSeconds} seconds.`, {
      retryAfterSeconds,
      limit: {
        rule,
        limit,
        remaining: state.remaining,
        resetAtMs: state.resetAtMs,
      },
    })
  }
}
