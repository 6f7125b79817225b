import type { WindowCharge, WindowDecision, WindowState, WindowStore } from '../../domain/rate-limits/window-store.ts'
import { GroupCommit } from '../../domain/group-commit.ts'
import type { RedisClient } from './redis-client.ts'

/** Layout of the stored hashes; a new layout takes a new version, so that two releases can run side by side. */
const LAYOUT_VERSION = 'w1'

/** Bounds how long one script keeps the server from its other clients. */
const BATCH_REQUESTS_MAX = 128
/** A correction may wait this long for a call that it can travel with. */
const CORRECTION_DELAY_MS = 10

/** One request's part of a script call. */
interface Part {
  /** What its keys have in common, so that the server keeps them in one slot. */
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
}

/**
 * Rate windows that all processes share. An account's windows share one hash slot; its requests that arrive during one
 * round trip share the next script call, which decides them one by one.
 *
 * Time is the caller's, so clocks of processes may differ. A window takes the newest instant it has seen, so that none
 * gives room twice to a clock that steps back; it is shorter by as much as one clock leads the others. A process whose clock leads by more than a window
 * freezes the windows it touches; they expire by the server's own clock one window after the last booking, so the
 * harm ends by itself.
 */
export class RedisWindowStore implements WindowStore {
  readonly #client: RedisClient
  readonly #keyPrefix: string
  readonly #lane: GroupCommit<Part, PromiseSettledResult<number[]>>
  #corrections: Correction[] = []
  #correctionTimer: NodeJS.Timeout | undefined

  constructor(deps: RedisWindowStoreDeps) {
    this.#client = deps.client
    this.#keyPrefix = `${deps.keyPrefix ?? 'sluice'}:${LAYOUT_VERSION}`
    this.#lane = new GroupCommit((parts) => this.#consumeAll(parts), {
      batchItemsMax: BATCH_REQUESTS_MAX,
      isTransient: () => false,
      retriesMax: () => 0,
      wait: () => Promise.resolve(),
    })
  }

  consume(charges: readonly WindowCharge[], nowMs: number): Promise<WindowDecision> {
    return this.#lane.submit(this.#part(charges, argumentsOf(charges, nowMs))).then((answer) => {
      if (answer.status === 'rejected') throw answer.reason
      return toDecision(charges, answer.value)
    })
  }

  adjust(charges: readonly { charge: WindowCharge; delta: number }[], consumedAtMs: number): Promise<void> {
    const at = String(consumedAtMs)
    const args: string[] = []
    for (const { charge, delta } of charges) args.push(at, windowMs(charge), String(charge.buckets), String(delta))
    const part = this.#part(
      charges.map(({ charge }) => charge),
      args,
    )
    return new Promise((resolve, reject) => {
      this.#corrections.push({ ...part, resolve, reject })
      this.#correctionTimer ??= setTimeout(() => this.#sendCorrections(), CORRECTION_DELAY_MS)
    })
  }

  async peek(charges: readonly WindowCharge[], nowMs: number): Promise<WindowState[]> {
    const { keys, args } = this.#part(charges, argumentsOf(charges, nowMs))
    return statesOf(charges, await this.#client.peekWindows(keys, args))
  }

  /** The connection belongs to whoever opened it. */
  async close(): Promise<void> {
    this.#sendCorrections()
    await this.#lane.drained()
  }

  /** Corrections that wait ride along. */
  async #consumeAll(parts: readonly Part[]): Promise<PromiseSettledResult<number[]>[]> {
    this.#sendCorrections()
    const answers = new Map<Part, PromiseSettledResult<number[]>>()
    await Promise.all(byPlace(parts).map((ofPlace) => this.#consumeOfPlace(ofPlace, answers)))
    return parts.map((part) => answers.get(part) ?? { status: 'rejected', reason: new Error('no answer') })
  }

  /** Never rejects, so that a call that fails takes none of another place with it. */
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
    const [place = ''] = (charges[0]?.key ?? '').split(':', 1)
    return { place, keys: charges.map((charge) => this.#keyOf(charge)), args }
  }

  #keyOf({ key, windowSeconds }: WindowCharge): string {
    const colon = key.indexOf(':')
    const [place, rest] = colon < 0 ? [key, ''] : [key.slice(0, colon), key.slice(colon)]
    return `${this.#keyPrefix}:{${place}}${rest}:${windowSeconds}`
  }
}

/** In order of arrival within each place. */
function byPlace<P extends Part>(parts: readonly P[]): P[][] {
  return [...Map.groupBy(parts, ({ place }) => place).values()]
}

function joined(parts: readonly Part[]): [keys: string[], args: string[]] {
  return [parts.flatMap(({ keys }) => keys), parts.flatMap(({ args }) => args)]
}

/** Three numbers of the request, and two of each window. */
function replyLength({ keys }: Part): number {
  return 3 + 2 * keys.length
}

function argumentsOf(charges: readonly WindowCharge[], nowMs: number): string[] {
  const args = [String(charges.length), String(Math.floor(nowMs))]
  for (const charge of charges) {
    args.push(String(charge.limit), windowMs(charge), String(charge.buckets), String(charge.weight))
  }
  return args
}

function windowMs(charge: WindowCharge): string {
  return String(charge.windowSeconds * 1000)
}

function toDecision(charges: readonly WindowCharge[], reply: number[]): WindowDecision {
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
