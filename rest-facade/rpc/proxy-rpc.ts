import { once } from 'node:events'
import type { Exchange } from '../exchange.ts'
import { setMeteringHeaders } from '../headers.ts'
import { type Route, RPC_BODY_BYTES_MAX } from '../route.ts'
import { rpcHeaderNames } from './rpc-headers.ts'

export const proxyRpcRoute: Route = {
  method: 'post',
  path: '/crypto/rpc/:network',
  access: 'inference',
  body: { kind: 'raw', limitBytes: RPC_BODY_BYTES_MAX },
  summary: 'Call a blockchain node by JSON-RPC 2.0, single or batch',
  async handler(exchange) {
    const { context, services } = exchange
    try {
      const answer = await services.rpc.call(context, exchange.param('network'), exchange.rawBody)
      const names = rpcHeaderNames(services.serviceName)
      setMeteringHeaders(exchange, answer.metered)
      exchange.setHeader(names.credits, answer.credits)
      exchange.setHeader(names.costUsd, answer.costUsd)
      exchange.setHeader('X-Request-ID', exchange.requestId)
      if (answer.retries > 0) exchange.setHeader('x-retry-count', answer.retries)
      if (!Buffer.isBuffer(answer.body)) await stream(exchange, answer.body)
      else if (answer.status === 204) exchange.response.writeHead(204).end()
      else exchange.text(200, 'application/json', answer.body)
    } catch (error) {
      // A client that left reads no error either.
      if (!context.signal.aborted) throw error
    }
  },
}

/** Chunk by chunk at the client's pace; leaving the loop early returns the generator, which charges. */
async function stream({ response, signal }: Exchange, body: AsyncIterable<Uint8Array>): Promise<void> {
  response.setHeader('Content-Type', 'application/json')
  for await (const chunk of body) {
    if (signal.aborted) return
    if (!response.write(chunk)) await once(response, 'drain', { signal })
  }
  response.end()
}
