import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { createRestListener } from '../../rest-facade/rest-listener.ts'
import { ROUTES } from '../../rest-facade/router.ts'
import { createGraphqlServer } from '../../schema/http/server.ts'
import { createTrpcMiddleware } from '../../schema/trpc/router.ts'
import type { Config } from '../config/config.ts'
import { OperatorAccess } from '../domain/operators/operator-access.ts'
import type { Services } from '../domain/services.ts'
import { limitConnections } from './connection-shares.ts'
import { createParts, toServices } from './create-services.ts'
import { drainHttp } from './drain.ts'
import { warnOfFreeModels } from './free-models.ts'
import { mountHealth } from './health.ts'
import { createHttpServer, endSocket } from './http-server.ts'
import { createInfrastructure, type InfrastructureOverrides } from './infrastructure.ts'
import { mountMetrics } from './metrics-endpoint.ts'
import { mountNotFound } from './not-found.ts'
import { readinessChecks } from './readiness.ts'
import { secureExpress, securityHeaders, toHeaderLines } from './security-headers.ts'
import { startServices, stopServices } from './service-lifecycle.ts'

export interface App {
  /** Origin under which this process listens, such as `http://127.0.0.1:3000`. */
  url: string
  services: Services
  /**
   * Lets running requests finish until the deadline (30 s), settles or releases every hold of this process, and closes
   * everything it opened. A repeated call waits for the first one.
   */
  close: (options?: { deadlineMs?: number }) => Promise<void>
}

/** Builds and starts one server process from its configuration; the only place that knows every part. */
export async function createApp(config: Config, overrides: InfrastructureOverrides = {}): Promise<App> {
  const infrastructure = await createInfrastructure(config, overrides)
  const parts = createParts(config, infrastructure)
  const services = toServices(config, infrastructure, parts)
  const stopMaintenance = await startServices(parts, infrastructure)
  warnOfFreeModels(config, { catalogue: services.models.changes, log: services.log })
  const headers = securityHeaders(config.service.publicUrl)
  const headerLines = toHeaderLines(headers)
  let draining = false

  const graphql = createGraphqlServer({
    services,
    log: services.log,
    isProduction: config.production,
    allowedOrigins: services.identity.allowedOrigins,
    headerLines,
  })
  const access = new OperatorAccess({ operators: config.operators, abuseGuard: services.limits.abuseGuard })
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  secureExpress(app, headers)
  // Express's default depends on NODE_ENV and would put stack traces into responses.
  app.set('env', 'production')
  const serveRest = createRestListener(ROUTES, services)
  mountMetrics(app, infrastructure.metrics, { access, addresses: services.clientAddresses })
  mountHealth(app, readinessChecks(infrastructure, parts.money.metering), () => draining)
  app.use('/graphql', (request, response) => {
    // Express removes the mount path; the GraphQL server routes by the whole path.
    request.url = request.originalUrl
    graphql.handle(request, response)
  })
  app.use('/trpc', createTrpcMiddleware(services, access))
  mountNotFound(app, services)

  const server = createHttpServer((request, response) => {
    if (!serveRest(request, response)) app(request, response)
  }, headers)
  limitConnections(server, config.http, { addresses: services.clientAddresses, log: services.log })
  server.on('upgrade', (request, socket, head) => {
    if (request.url?.split('?')[0] === '/graphql' && !draining) graphql.handleUpgrade(request, socket, head)
    else endSocket(socket, { status: 404, headers: headerLines })
  })
  const url = await listen(server, config.http)
  // Started last, because slow or unreachable nodes must not delay the start.
  services.rpc.nodes.start()
  let closed: Promise<void> | undefined
  const close = async (deadlineMs?: number): Promise<void> => {
    draining = true
    await graphql.close()
    await drainHttp(server, deadlineMs)
    stopMaintenance()
    await stopServices(parts, infrastructure)
    await infrastructure.close()
  }
  return { url, services, close: ({ deadlineMs } = {}) => (closed ??= close(deadlineMs)) }
}

function listen(server: Server, { host, port }: { host: string; port: number }): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      const address = server.address() as AddressInfo
      const name = address.family === 'IPv6' ? `[${address.address}]` : address.address
      resolve(`http://${name}:${address.port}`)
    })
  })
}
