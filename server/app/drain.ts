import type { Server } from 'node:http'

const DEADLINE_MS = 30_000

/**
 * Stops accepting connections and lets running requests finish. At the deadline the rest is cut: each cut request then
 * settles the delivered part, as if its client had disconnected.
 */
export function drainHttp(server: Server, deadlineMs = DEADLINE_MS): Promise<void> {
  return new Promise((resolve) => {
    const deadline = setTimeout(() => server.closeAllConnections(), deadlineMs)
    // Idle keep-alive connections would keep the server open until their own timeout.
    const sweep = setInterval(() => server.closeIdleConnections(), 250)
    server.close(() => {
      clearTimeout(deadline)
      clearInterval(sweep)
      resolve()
    })
    server.closeIdleConnections()
  })
}
