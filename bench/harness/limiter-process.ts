import { closeRedis, createRedis } from '../../server/store/redis/redis-client.ts'
import { RedisWindowStore } from '../../server/store/redis/redis-window-store.ts'
import type { Arrival, Booking, LimiterJob } from './limiter.ts'
import { REDIS_URL } from './redis-server.ts'

/** The child process of `limiter.ts`: one server process's rate windows, on the shared Redis. */
const log = { info: () => {}, warn: console.error, error: console.error }
const [keyPrefix = ''] = process.argv.slice(2)
const client = await createRedis(REDIS_URL, log)
/** Arrivals happen in simulated time. */
const simulated = { atMs: 0, nowMs: () => simulated.atMs }
const store = new RedisWindowStore({ client, keyPrefix, clock: simulated, deadlineMs: 60_000 })

async function take(window: LimiterJob['window'], { atMs, weight }: Arrival): Promise<Booking> {
  simulated.atMs = atMs
  const { admitted, booking } = await store.consume([{ ...window, weight }])
  return { atMs: booking.sharedAtMs ?? atMs, weight: admitted ? weight : 0 }
}

process.on('message', ({ window, arrivals }: LimiterJob) => {
  void Promise.all(arrivals.map((arrival) => take(window, arrival))).then((bookings) => process.send?.(bookings))
})
process.on('disconnect', () => {
  closeRedis(client)
  process.exit(0)
})
process.send?.('ready')
