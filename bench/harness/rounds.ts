import type { LoadClient, LoadOutcome, Target } from './load.ts'
import { cpuMsBetween, cpuMsByPid, residentMegabytesOf } from './process-figures.ts'
import type { ServerProcess } from './server-process.ts'
import { quantileOf } from './statistics.ts'

/** A server under load, and processes that work for it, such as its database's. */
export interface Contender {
  name: string
  server: ServerProcess
  target: Target
  backing?: { name: string; pids: () => number[] }[]
}

export interface RoundFigures {
  /** For the server process alone. */
  cpuMsPerRequest: number
  /** The same for each backing part. */
  backingCpuMsPerRequest: Record<string, number>
  requestsPerSecond: number
  p50Ms: number
  p99Ms: number
  residentMegabytes: number
}

export interface RoundsOptions {
  load: LoadClient
  connections: number
  /** Set: arrivals at this rate for all, instead of as many as each can serve. */
  requestsPerSecond?: number | undefined
  warmUpRequests: number
  requests: number
  rounds: number
}

/** Loads the contenders in turns (A B C A B C …), so a drift of the machine affects all of them alike. */
export async function measureRounds(
  contenders: readonly Contender[],
  options: RoundsOptions,
): Promise<Map<string, RoundFigures[]>> {
  const { load, connections, warmUpRequests, requests, rounds, requestsPerSecond } = options
  const figures = new Map(contenders.map(({ name }) => [name, [] as RoundFigures[]]))
  for (const { target } of contenders) await load.run({ target, connections, requests: warmUpRequests })
  for (let round = 0; round < rounds; round++) {
    for (const contender of contenders) {
      const { target } = contender
      const measured = await measureRound(contender, () =>
        load.run({ target, connections, requests, requestsPerSecond }),
      )
      figures.get(contender.name)?.push(measured)
    }
  }
  return figures
}

async function measureRound(contender: Contender, run: () => Promise<LoadOutcome>): Promise<RoundFigures> {
  const backing = (contender.backing ?? []).map(({ name, pids }) => ({ name, pids, before: cpuMsByPid(pids()) }))
  const before = cpuMsByPid([contender.server.pid])
  const { latenciesMs, seconds } = await run()
  const requests = latenciesMs.length
  const cpuMs = cpuMsBetween(before, cpuMsByPid([contender.server.pid]))
  return {
    cpuMsPerRequest: cpuMs / requests,
    backingCpuMsPerRequest: Object.fromEntries(
      backing.map(({ name, pids, before: start }) => [name, cpuMsBetween(start, cpuMsByPid(pids())) / requests]),
    ),
    requestsPerSecond: requests / seconds,
    p50Ms: quantileOf(latenciesMs, 0.5),
    p99Ms: quantileOf(latenciesMs, 0.99),
    residentMegabytes: residentMegabytesOf(contender.server.pid),
  }
}
