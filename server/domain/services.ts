import type { Clock } from './clock.ts'
import type { Metering } from './metering/metered-request.ts'

/** What a front may call. The composition root builds it; every front reaches the same instances. */
export interface Services {
  clock: Clock
  metering: Metering
}
