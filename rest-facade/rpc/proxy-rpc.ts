import type { AnswerToKeep } from '../../server/domain/idempotency/idempotent-run.ts'
import type { RpcResponse } from '../../server/domain/rpc/rpc-service.ts'
import type { Exchange } from '../exchange.ts'
import { setMeteringHeaders } from '../headers.ts'
import { journalOf } from '../idempotency.ts'
import { type Route, RPC_BODY_BYTES_MAX } from '../route.ts'
import { writeChunks } from '../write-chunks.ts'
import { rpcHeaderNames } from './rpc-headers.ts'

export const proxyRpcRoute: Route = {
  method: 'post',
  path: '/crypto/rpc/:network',
  access: 'inference',
  idempotent: true,
  compressed: true,
  body: { kind: 'raw', limitBytes: RPC_BODY_BYTES_MAX },
  ratePlan: ({ services }, caller) => services.ratePlans.planForRpc(caller, 0),
  summary: 'Call a blockchain node with JSON-RPC 2.0, single or batch',
  async handler(exchange) {
    const { context, services } = exchange
    const journal = journalOf<RpcResponse>(exchange, (answer) => toKept(exchange, answer))
    try {
      const answer = await services.rpc.call({ ...context, journal }, exchange.param('network'), exchange.rawBody)
      setMeteringHeaders(exchange, answer.metered)
      exchange.setHeaders(headersOf(exchange, answer))
      if (!Buffer.isBuffer(answer.body)) await writeChunks(exchange, answer.body)
      else if (answer.status === 204) exchange.empty()
      else exchange.text(200, JSON_TYPE, answer.body)
    } catch (error) {
      // A client that left reads no error either.
      if (!context.signal.aborted) throw error
    }
  },
}

const JSON_TYPE = 'application/json'

function headersOf({ requestId, services }: Exchange, answer: RpcResponse): Record<string, string> {
  const names = rpcHeaderNames(services.serviceName)
  return {
    ...(answer.status === 204 ? {} : { 'Content-Type': JSON_TYPE }),
    [names.credits]: String(answer.credits),
    [names.costUsd]: answer.costUsd,
    'X-Request-ID': requestId,
    ...(answer.retries > 0 ? { 'x-retry-count': String(answer.retries) } : {}),
  }
}

function toKept(exchange: Exchange, answer: RpcResponse): Omit<AnswerToKeep, 'price'> {
  const { status, body } = answer
  return { status, headers: headersOf(exchange, answer), body: Buffer.isBuffer(body) ? body : 'pieces' }
}
