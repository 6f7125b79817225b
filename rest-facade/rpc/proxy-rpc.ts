import { z } from 'zod'
import type { AnswerToKeep } from '../../server/domain/idempotency/idempotent-run.ts'
import type { RpcResponse } from '../../server/domain/rpc/rpc-service.ts'
import type { Exchange } from '../exchange.ts'
import { journalOf } from '../idempotency.ts'
import { defineRoute, RPC_BODY_BYTES_MAX } from '../route.ts'
import { rpcHeaderNames } from './rpc-headers.ts'

const JSON_TYPE = 'application/json'

/** JSON-RPC 2.0, byte for byte as the node wrote it. */
const RpcAnswer = z.looseObject({
  jsonrpc: z.string().optional(),
  id: z.unknown(),
  result: z.unknown().optional(),
  error: z.unknown().optional(),
})

export const proxyRpcRoute = defineRoute({
  method: 'post',
  path: '/crypto/rpc/:network',
  access: 'inference',
  limits: {
    counted: 'by_service',
    plan: ({ services }, caller) => services.limits.ratePlans.planForRpc(caller, 0),
    noRetryAfter: true,
  },
  idempotent: true,
  compressed: true,
  body: { kind: 'raw', limitBytes: RPC_BODY_BYTES_MAX },
  summary: 'Call a blockchain node with JSON-RPC 2.0, single or batch',
  parameters: { path: z.object({ network: z.string() }) },
  output: { json: z.union([RpcAnswer, z.array(RpcAnswer)]) },
  errors: ['invalid_request', 'invalid_json', 'not_found', 'rpc_upstream_failed'],
  async handler(exchange) {
    const { context, services } = exchange
    const journal = journalOf<RpcResponse>(exchange, (answer) => toKept(exchange, answer))
    const answer = await services.rpc.proxy.call({ ...context, journal }, exchange.param('network'), exchange.rawBody)
    const head = { headers: headersOf(exchange, answer), metered: answer.metered }
    if (!Buffer.isBuffer(answer.body)) return { ...head, chunks: answer.body, contentType: JSON_TYPE }
    if (answer.status === 204) return { ...head, status: 204 }
    return { ...head, content: answer.body, contentType: JSON_TYPE }
  },
})

function headersOf({ requestId, services }: Exchange, answer: RpcResponse): Record<string, string> {
  const names = rpcHeaderNames(services.identity.serviceName)
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
