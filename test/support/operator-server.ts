import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { createTrpcMiddleware } from '../../schema/trpc/router.ts'
import type { OperatorServices } from '../../schema/trpc/trpc.ts'

export const OPERATOR_TOKEN = 'operator-token-for-tests'

/** Serves the operator surface alone on a port of its own. */
export async function startOperatorServer(services: Omit<OperatorServices, 'rpcNodes'>) {
  const app = express()
  const rpcNodes = { inspect: async () => [] }
  app.use('/trpc', createTrpcMiddleware({ ...services, rpcNodes }, OPERATOR_TOKEN))
  const server = createServer(app)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
