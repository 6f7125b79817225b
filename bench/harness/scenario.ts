import type { LoadClient } from './load.ts'

export interface ScenarioOptions {
  rounds: number
  /** Requests of each contender in each round. */
  requests: number
  /** Sent before the first turn, so that every server runs compiled code. */
  warmUpRequests: number
  connections: number
  load: LoadClient
}
