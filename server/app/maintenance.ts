import type { Log } from '../domain/log.ts'

export interface MaintenanceTask {
  name: string
  everySeconds: number
  run: () => Promise<unknown>
}

/** Runs each task repeatedly, never twice at once; a task that fails is logged and retried in its next turn. */
export function startMaintenance(tasks: readonly MaintenanceTask[], log: Log): () => void {
  const timers = tasks.map(({ name, everySeconds, run }) => {
    let running = false
    const timer = setInterval(() => {
      if (running) return
      running = true
      void run()
        .catch((error: unknown) => log.warn('maintenance failed; it is retried', { task: name, error }))
        .finally(() => {
          running = false
        })
    }, everySeconds * 1_000)
    return timer.unref()
  })
  return () => {
    for (const timer of timers) clearInterval(timer)
  }
}
