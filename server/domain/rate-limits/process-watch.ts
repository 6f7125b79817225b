import type { Log } from '../log.ts'
import type { LimitShare } from './limit-share.ts'
import type { ProcessRepository } from './process-repository.ts'

export interface ProcessWatchDeps {
  processes: Pick<ProcessRepository, 'listLive'>
  /** A process with an older lease is considered dead. */
  staleSeconds: number
  share: LimitShare
  processId: string
  sharedStore: boolean
  log: Log
}

/** Updates this process's share of the limits when the number of processes changes. */
export class ProcessWatch {
  readonly #deps: ProcessWatchDeps
  #warned = false

  constructor(deps: ProcessWatchDeps) {
    this.#deps = deps
  }

  async refresh(): Promise<void> {
    const { processes, staleSeconds, share, processId, sharedStore, log } = this.#deps
    share.update(processId, await processes.listLive(staleSeconds))
    if (share.processes === 1 || sharedStore || this.#warned) return
    this.#warned = true
    log.warn('several processes share this database without Redis, so each admits its share of every rate limit', {
      processes: share.processes,
      fix: 'set REDIS_URL to the same Redis for all of them',
    })
  }
}
