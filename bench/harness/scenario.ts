import type { LoadClient } from './load.ts'

export interface ScenarioOptions {
  rounds: number
  /** Requests of each contender in each round. */
  requests: number
  /** Sent before the first turn, so every server runs compiled code. */
  warmUpRequests: number
  connections: number
  /** Set: arrivals at this rate for all, instead of as many as each can serve. */
  requestsPerSecond?: number | undefined
  load: LoadClient
  /** Aborted when the run must end. */
  signal: AbortSignal
  profileFolder?: string | undefined
}

export function describeLoad({ connections, requestsPerSecond }: ScenarioOptions): string {
  const arrivals =
    requestsPerSecond === undefined ? 'each at its own pace' : `${requestsPerSecond} requests a second each`
  return `${connections} connections, ${arrivals}`
}
