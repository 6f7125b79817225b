import { randomUUID } from 'node:crypto'
import type { Clock } from '../../domain/clock.ts'
import { GroupCommit } from '../../domain/group-commit.ts'
import { itemAt } from '../../domain/item-at.ts'
import type {
  HeldWindow,
  SharedWindowStore,
  WindowBooking,
  WindowCharge,
  WindowDecision,
  WindowState,
} from '../../domain/rate-limits/window-store.ts'
import { DeadlineExceeded, withDeadline } from '../deadline.ts'
import type { RedisClient } from './redis-client.ts'

/** Layout of the stored hashes; a new layout takes a new version, so two releases can run side by side. */
const LAYOUT_VERSION = 'w1'

/** A call that takes longer while this process is otherwise idle counts as lost. A busy machine needs most of it. */
const DEADLINE_MS = 1_000
/** For calls that no request waits for. */
const CARRY_DEADLINE_MS = 5_000
/** Windows that one script call takes over. Windows of one account share a call; different accounts never do. */
const CARRIED_WINDOWS_MAX = 50
/** Maximum number of calls in flight. */
const CARRY_CALLS_MAX = 200
/** Sent instead of an instant: the server's clock decides. */
const SERVER_CLOCK = '-1'

/** Bounds how long one script blocks the server's other clients. */
const BATCH_REQUESTS_MAX = 128
/** How long a correction may wait for a call to travel with. */
const CORRECTION_DELAY_MS = 10

/** One request's part of a script call. */
interface Part {
  /** The shared part of its keys, so the server keeps them in one slot. */
  place: string
  keys: string[]
  args: string[]
}

interface Correction extends Part {
  resolve: () => void
  reject: (error: unknown) => void
}

export interface RedisWindowStoreDeps {
  client: RedisClient
  /** Separates instances that share one server. */
  keyPrefix?: string
  /** Replaces the server's clock in simulations. */
  clock?: Pick<Clock, 'nowMs'>
  deadlineMs?: number
}

/**
 * Rate windows that all processes share. An account's windows share one hash slot; its requests that arrive during one
 * round trip share the next script call, which decides them one by one.
 *
 * Time is the server's: a process whose clock is wrong enforces the same exact limits. A window uses the newest instant
 * it has seen, so it never gives room twice if the server's clock steps back.
 */
export class RedisWindowStore implements SharedWindowStore {
  readonly #client: RedisClient
  readonly #keyPrefix: string
  readonly #instant: () => string
  readonly #deadlineMs: number
  readonly #lane: GroupCommit<Part, PromiseSettledResult<number[]>>
  #corrections: Correction[] = []
  #correctionTimer: NodeJS.Timeout | undefined
  /** Why the server counts as lost; calls that wait for it then fail at once, until a probe succeeds. */
  #lostBy: Error | undefined
  /** A server that still has this value has kept the windows as well. */
  #marker: string | null | undefined

  constructor(deps: RedisWindowStoreDeps) {
    const { clock, deadlineMs = DEADLINE_MS } = deps
    this.#deadlineMs = deadlineMs
    this.#client = deps.client
    this.#keyPrefix = `${deps.keyPrefix ?? 'sluice'}:${LAYOUT_VERSION}`
    this.#instant = clock === undefined ? () => SERVER_CLOCK : () => String(Math.floor(clock.nowMs()))
    this.#lane = new GroupCommit((parts) => this.#consumeAll(parts), {
      batchItemsMax: BATCH_REQUESTS_MAX,
      isTransient: () => false,
      retriesMax: () => 0,
      wait: () => Promise.resolve(),
    })
  }

  consume(charges: readonly WindowCharge[]): Promise<WindowDecision> {
    return this.#lane.submit(this.#part(charges, this.#argumentsOf(charges))).then((answer) => {
      if (answer.status === 'rejected') throw answer.reason
      return toDecision(charges, answer.value)
    })
  }

  adjust(charges: readonly { charge: WindowCharge; delta: number }[], { sharedAtMs }: WindowBooking): Promise<void> {
    if (sharedAtMs === null) return Promise.resolve()
    const args = charges.flatMap(({ charge, delta }) => [
      String(sharedAtMs),
      windowMs(charge),
      String(charge.buckets),
      String(delta),
    ])
    const part = this.#part(
      charges.map(({ charge }) => charge),
      args,
    )
    return new Promise((resolve, reject) => {
      this.#corrections.push({ ...part, resolve, reject })
      this.#correctionTimer ??= setTimeout(() => this.#sendCorrections(), CORRECTION_DELAY_MS)
    })
  }

  async peek(charges: readonly WindowCharge[]): Promise<WindowState[]> {
    const { keys, args } = this.#part(charges, this.#argumentsOf(charges))
    return statesOf(charges, await this.#untilDeadline(this.#client.peekWindows(keys, args)))
  }

  async probe(): Promise<boolean> {
    const key = `${this.#keyPrefix}:marker`
    const asked = Promise.all([this.#client.set(key, randomUUID(), { condition: 'NX' }), this.#client.get(key)])
    const [, marker] = await withDeadline(asked, this.#deadlineMs)
    this.#lostBy = undefined
    const kept = this.#marker === undefined || this.#marker === marker
    this.#marker = marker
    return kept
  }

  async carry(windows: Iterable<HeldWindow>): Promise<void> {
    let calls: Promise<unknown>[] = []
    for (const part of carriedParts(windows, (window) => this.#keyOf(window), this.#instant())) {
      calls.push(withDeadline(this.#client.carryWindows(part.keys, part.args), CARRY_DEADLINE_MS))
      if (calls.length < CARRY_CALLS_MAX) continue
      await Promise.all(calls)
      calls = []
    }
    await Promise.all(calls)
  }

  /** The connection is closed by its owner. */
  async close(): Promise<void> {
    this.#sendCorrections()
    await this.#lane.drained()
  }

  async #untilDeadline<T>(work: Promise<T>): Promise<T> {
    try {
      return await withDeadline(work, this.#deadlineMs)
    } catch (error) {
      if (error instanceof DeadlineExceeded) this.#lostBy = error
      throw error
    }
  }

  /** Pending corrections are sent along. */
  async #consumeAll(parts: readonly Part[]): Promise<PromiseSettledResult<number[]>[]> {
    this.#sendCorrections()
    const answers = new Map<Part, PromiseSettledResult<number[]>>()
    try {
      if (this.#lostBy !== undefined) throw this.#lostBy
      await this.#untilDeadline(Promise.all(byPlace(parts).map((ofPlace) => this.#consumeOfPlace(ofPlace, answers))))
    } catch (reason) {
      return parts.map((part) => answers.get(part) ?? { status: 'rejected', reason })
    }
    return parts.map((part) => answers.get(part) ?? { status: 'rejected', reason: new Error('no answer') })
  }

  /** Never rejects, so a call that fails does not fail calls of other slots. */
  async #consumeOfPlace(parts: readonly Part[], answers: Map<Part, PromiseSettledResult<number[]>>): Promise<void> {
    try {
      const reply = await this.#client.consumeWindows(...joined(parts))
      let start = 0
      for (const part of parts) {
        const end = start + replyLength(part)
        answers.set(part, { status: 'fulfilled', value: reply.slice(start, end) })
        start = end
      }
    } catch (reason) {
      for (const part of parts) answers.set(part, { status: 'rejected', reason })
    }
  }

  #sendCorrections(): void {
    clearTimeout(this.#correctionTimer)
    this.#correctionTimer = undefined
    for (const ofPlace of byPlace(this.#corrections.splice(0))) {
      this.#client.adjustWindows(...joined(ofPlace)).then(
        () => ofPlace.forEach(({ resolve }) => resolve()),
        (error: unknown) => ofPlace.forEach(({ reject }) => reject(error)),
      )
    }
  }

  #part(charges: readonly WindowCharge[], args: string[]): Part {
    return { place: placeOf(itemAt(charges, 0).key), keys: charges.map((charge) => this.#keyOf(charge)), args }
  }

  #argumentsOf(charges: readonly WindowCharge[]): string[] {
    const args = [this.#instant(), String(charges.length)]
    for (const charge of charges) {
      args.push(String(charge.limit), windowMs(charge), String(charge.buckets), String(charge.weight))
    }
    return args
  }

  #keyOf({ key, windowSeconds }: Pick<WindowCharge, 'key' | 'windowSeconds'>): string {
    const colon = key.indexOf(':')
    const [place, rest] = colon < 0 ? [key, ''] : [key.slice(0, colon), key.slice(colon)]
    return `${this.#keyPrefix}:{${place}}${rest}:${windowSeconds}`
  }
}

function placeOf(key: string): string {
  return key.split(':', 1)[0] ?? ''
}

/** In order of arrival within each slot. */
function byPlace<P extends Part>(parts: readonly P[]): P[][] {
  return [...Map.groupBy(parts, ({ place }) => place).values()]
}

/** Arguments of the calls that carry windows over; consecutive windows of one slot share a call. */
function* carriedParts(
  windows: Iterable<HeldWindow>,
  keyOf: (window: HeldWindow) => string,
  instant: string,
): Generator<Part> {
  let part: Part | undefined
  for (const window of windows) {
    const place = placeOf(window.key)
    if (part !== undefined && (part.place !== place || part.keys.length >= CARRIED_WINDOWS_MAX)) {
      yield part
      part = undefined
    }
    part ??= { place, keys: [], args: [] }
    part.keys.push(keyOf(window))
    part.args.push(instant, '1', '0', windowMs(window), String(window.buckets), '0', String(window.bookings.length))
    for (const { ageMs, weight } of window.bookings) part.args.push(String(ageMs), String(weight))
  }
  if (part !== undefined) yield part
}

function joined(parts: readonly Part[]): [keys: string[], args: string[]] {
  return [parts.flatMap(({ keys }) => keys), parts.flatMap(({ args }) => args)]
}

/** Three numbers of the request, and two of each window. */
function replyLength({ keys }: Part): number {
  return 3 + 2 * keys.length
}

function windowMs({ windowSeconds }: Pick<WindowCharge, 'windowSeconds'>): string {
  return String(windowSeconds * 1000)
}

function toDecision(charges: readonly WindowCharge[], reply: number[]): WindowDecision {
  const refusedBy = numberAt(reply, 0)
  const retryAtMs = numberAt(reply, 1)
  return {
    admitted: refusedBy === 0,
    refusedBy: refusedBy === 0 ? null : refusedBy - 1,
    retryAtMs: refusedBy === 0 || retryAtMs < 0 ? null : retryAtMs,
    booking: { sharedAtMs: refusedBy === 0 ? numberAt(reply, 2) : null, localAtMs: null },
    states: statesOf(charges, reply),
  }
}

function statesOf(charges: readonly WindowCharge[], reply: number[]): WindowState[] {
  return charges.map(({ limit }, index) => ({
    limit,
    remaining: Math.max(0, limit - numberAt(reply, 3 + index * 2)),
    resetAtMs: numberAt(reply, 4 + index * 2),
    nowMs: numberAt(reply, 2),
  }))
}

function numberAt(reply: number[], index: number): number {
  const value = reply[index]
  if (value === undefined) throw new Error('the window script returned too few numbers')
  return value
}
