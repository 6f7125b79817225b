import type { Server } from 'node:http'

const DEADLINE_MS = 30_000

/**
 * Stops taking connections and lets what runs finish. At the deadline the rest is cut: each cut request then settles
 * what it delivered, as if its client had left.
 */
export function drainHttp(server: Server, deadlineMs = DEADLINE_MS): Promise<void> {
  return new Promise((resolve) => {
    const deadline = setTimeout(() => server.closeAllConnections(), deadlineMs)
    // Connections that wait for a next request would keep the server open until their own timeout.
    const sweep = setInterval(() => server.closeIdleConnections(), 250)
    server.close(() => {
      clearTimeout(deadline)
      clearInterval(sweep)
      resolve()
    })
    server.closeIdleConnections()
  })
}
