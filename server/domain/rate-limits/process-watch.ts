import type { Log } from '../log.ts'
import type { PubSub } from '../pub-sub.ts'
import type { LimitShare } from './limit-share.ts'
import type { ProcessRepository } from './process-repository.ts'

const CHANNEL = 'process-started'

export interface ProcessWatchDeps {
  processes: Pick<ProcessRepository, 'listLive'>
  /** A process with an older lease is considered dead. */
  staleSeconds: number
  share: LimitShare
  processId: string
  sharedStore: boolean
  pubSub: Pick<PubSub, 'publish' | 'subscribe'>
  log: Log
}

/**
 * Updates this process's share of the limits when the number of processes changes. A process announces its start, so that
 * the others divide the limits before it serves; they notice its end by its lease.
 */
export class ProcessWatch {
  readonly #deps: ProcessWatchDeps
  #warned = false
  #unsubscribe: () => Promise<void> = async () => undefined

  constructor(deps: ProcessWatchDeps) {
    this.#deps = deps
  }

  async start(): Promise<void> {
    const { pubSub, processId, log } = this.#deps
    this.#unsubscribe = await pubSub.subscribe(CHANNEL, () => {
      // The next regular refresh makes up for one that fails.
      this.refresh().catch((error: unknown) => log.warn('the share of the limits could not be updated', { error }))
    })
    await this.refresh()
    pubSub.publish(CHANNEL, processId)
  }

  close(): Promise<void> {
    return this.#unsubscribe()
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
