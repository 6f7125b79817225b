import type { RoutedAnswer } from './node-router.ts'
import type { SingleAnswer } from './single-answer.ts'
import { type SingleRequest, type SingleSender, sharingKey, underIdOf } from './single-sender.ts'

interface Flight {
  answer: Promise<RoutedAnswer<SingleAnswer>>
  abort: AbortController
  waiting: number
  /** A response too large to buffer streams to only one request. */
  streamTaken: boolean
}

/**
 * Lets identical concurrent reads share one call to a node. Each gets the response under its own id and pays for it. A
 * client that disconnects does not affect the others; the call ends when all have left.
 */
export class ReadCoalescer implements SingleSender {
  readonly #inner: SingleSender
  readonly #flights = new Map<string, Flight>()

  constructor(inner: SingleSender) {
    this.#inner = inner
  }

  send(request: SingleRequest): Promise<RoutedAnswer<SingleAnswer>> {
    const key = sharingKey(request)
    if (key === undefined) return this.#inner.send(request)
    return this.#join(this.#flights.get(key) ?? this.#depart(key, request), request)
  }

  #depart(key: string, request: SingleRequest): Flight {
    const abort = new AbortController()
    const arrived = (): void => {
      if (this.#flights.get(key) === flight) this.#flights.delete(key)
    }
    const answer = this.#inner.send({ ...request, signal: abort.signal }).finally(arrived)
    // All requests may have left before the call fails.
    answer.catch(() => undefined)
    abort.signal.addEventListener('abort', arrived)
    const flight: Flight = { answer, abort, waiting: 0, streamTaken: false }
    this.#flights.set(key, flight)
    return flight
  }

  async #join(flight: Flight, request: SingleRequest): Promise<RoutedAnswer<SingleAnswer>> {
    const { signal } = request
    signal.throwIfAborted()
    const left = Promise.withResolvers<never>()
    const leave = (): void => {
      flight.waiting -= 1
      if (flight.waiting === 0) flight.abort.abort(signal.reason)
      left.reject(signal.reason)
    }
    flight.waiting += 1
    signal.addEventListener('abort', leave)
    try {
      const routed = await Promise.race([flight.answer, left.promise])
      if (routed.value.shape === 'whole') return { ...routed, value: underIdOf(request, routed.value) }
      if (routed.value.shape === 'empty') return routed
      if (!flight.streamTaken) {
        flight.streamTaken = true
        signal.addEventListener('abort', () => flight.abort.abort(signal.reason))
        return routed
      }
    } finally {
      signal.removeEventListener('abort', leave)
    }
    return this.#inner.send(request)
  }
}
