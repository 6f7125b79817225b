const running = new Set<() => void>()

function endAll(): void {
  for (const end of running) end()
}

process.once('exit', endAll)
// Vitest ends its workers by SIGTERM, which by itself skips what is to be done at the exit.
process.once('SIGTERM', () => {
  endAll()
  process.kill(process.pid, 'SIGTERM')
})

/** Ends, at the latest with this process, what a test has started. Gives back how to say that it has ended by itself. */
export function endWithWorker(end: () => void): () => void {
  running.add(end)
  return () => void running.delete(end)
}
