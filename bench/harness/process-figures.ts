import { readdirSync, readFileSync } from 'node:fs'

/**
 * User and system CPU time of all threads of a process, in the kernel's own nanoseconds, because `stat` counts in 10
 * ms.
 */
function cpuMsOf(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`)
  return threads.reduce((sum, thread) => sum + Number(schedulerTimes(pid, thread)[0]) / 1e6, 0)
}

/** Nanoseconds on a processor, nanoseconds in its queue, number of turns. */
function schedulerTimes(pid: number, thread: string): string[] {
  return readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')
}

/** For each process that still runs. */
export function cpuMsByPid(pids: readonly number[]): Map<number, number> {
  return new Map(
    pids.flatMap((pid): [number, number][] => {
      try {
        return [[pid, cpuMsOf(pid)]]
      } catch {
        return []
      }
    }),
  )
}

/** CPU time between two readings. A process that started since counts fully; one that ended since is left out. */
export function cpuMsBetween(before: ReadonlyMap<number, number>, after: ReadonlyMap<number, number>): number {
  return [...after].reduce((sum, [pid, cpuMs]) => sum + cpuMs - (before.get(pid) ?? 0), 0)
}

export function residentMegabytesOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? Number.NaN) / 1_024
}

/** Processes whose command line contains `text`, as PostgreSQL's connections contain the name of their database. */
export function findProcesses(text: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => commandLineOf(name).includes(text))
    .map(Number)
}

function commandLineOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}
