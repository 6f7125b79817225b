import type { WindowCharge, WindowDecision, WindowState, WindowStore } from '../../domain/rate-limits/window-store.ts'
import { GroupCommit } from '../../domain/group-commit.ts'
import type { RedisClient } from './redis-client.ts'

/** Layout of the stored hashes; a new layout takes a new version, so that two releases can run side by side. */
const LAYOUT_VERSION = 'w1'

const BATCH_CALLS_MAX = 512
/** A correction may wait this long for a call that it can travel with. */
const CORRECTION_DELAY_MS = 10

interface ScriptCall {
  keys: string[]
  args: string[]
}

interface Correction extends ScriptCall {
  resolve: () => void
  reject: (error: unknown) => void
}

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

  /** Each write to the server wakes it: what arrives during one round trip shares the next. */
  readonly #lane: GroupCommit<ScriptCall, PromiseSettledResult<number[]>>
  #corrections: Correction[] = []
  #correctionTimer: NodeJS.Timeout | undefined

  constructor(deps: RedisWindowStoreDeps) {
    this.#client = deps.client
    this.#keyPrefix = `${deps.keyPrefix ?? 'sluice'}:${LAYOUT_VERSION}`
    this.#lane = new GroupCommit((calls) => this.#consumeAll(calls), {
      batchItemsMax: BATCH_CALLS_MAX,
      isTransient: () => false,
      retriesMax: () => 0,
      wait: () => Promise.resolve(),
    })
  }

  async consume(charges: readonly WindowCharge[], nowMs: number): Promise<WindowDecision> {
    const answer = await this.#lane.submit({ keys: this.#keys(charges), args: argumentsOf(charges, nowMs) })
    if (answer.status === 'rejected') throw answer.reason
    const reply = answer.value
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

  adjust(charges: readonly { charge: WindowCharge; delta: number }[], consumedAtMs: number): Promise<void> {
    const args = [String(consumedAtMs)]
    for (const { charge, delta } of charges) args.push(windowMs(charge), String(charge.buckets), String(delta))
    const keys = this.#keys(charges.map(({ charge }) => charge))
    return new Promise((resolve, reject) => {
      this.#corrections.push({ keys, args, resolve, reject })
      this.#correctionTimer ??= setTimeout(() => this.#sendCorrections(), CORRECTION_DELAY_MS)
    })
  }

  async peek(charges: readonly WindowCharge[], nowMs: number): Promise<WindowState[]> {
    return statesOf(charges, await this.#client.peekWindows(this.#keys(charges), argumentsOf(charges, nowMs)))
  }

  /** The connection belongs to whoever opened it. */
  async close(): Promise<void> {
    this.#sendCorrections()
    await this.#lane.drained()
  }

  /** Never rejects, so that a lost call fails alone; corrections that wait ride along. */
  #consumeAll(calls: readonly ScriptCall[]): Promise<PromiseSettledResult<number[]>[]> {
    this.#sendCorrections()
    return Promise.allSettled(calls.map(({ keys, args }) => this.#client.consumeWindows(keys, args)))
  }

  #sendCorrections(): void {
    clearTimeout(this.#correctionTimer)
    this.#correctionTimer = undefined
    for (const { keys, args, resolve, reject } of this.#corrections.splice(0)) {
      this.#client.adjustWindows(keys, args).then(() => resolve(), reject)
    }
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
