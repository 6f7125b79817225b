import type { Server } from 'node:http'
import { ConnectionSlots } from '../../schema/http/live/connection-slots.ts'
import type { ClientAddresses } from '../domain/client-addresses.ts'
import type { Log } from '../domain/log.ts'
import { networkOf } from '../domain/rate-limits/network-of.ts'
import { LogThrottle } from '../store/log-throttle.ts'

export interface ConnectionLimits {
  maxConnections: number
  maxConnectionsPerAddress: number
}

interface Surroundings {
  addresses: ClientAddresses
  log: Log
}

/**
 * Closes connections beyond the limits of the process and of each address before reading from them, so one address
 * cannot use up all connections. A trusted proxy has no limit of its own, because it carries everybody's requests.
 */
export function limitConnections(server: Server, limits: ConnectionLimits, { addresses, log }: Surroundings): void {
  const slots = new ConnectionSlots(limits.maxConnectionsPerAddress)
  const throttle = new LogThrottle()
  const report = (limit: keyof ConnectionLimits, address?: string): void => {
    if (throttle.mayLog()) log.warn('connections beyond a limit are closed', { limit: `http.${limit}`, address })
  }
  server.maxConnections = limits.maxConnections
  server.on('drop', () => report('maxConnections'))
  server.prependListener('connection', (socket) => {
    const { remoteAddress } = socket
    if (remoteAddress === undefined || addresses.isTrustedProxy(remoteAddress)) return
    const network = networkOf(remoteAddress)
    const release = slots.take(network)
    if (release !== undefined) {
      socket.once('close', release)
      return
    }
    socket.destroy()
    report('maxConnectionsPerAddress', network)
  })
}
