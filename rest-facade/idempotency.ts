import type { AnswerJournal } from '../server/domain/metering/answer-journal.ts'
import type { Replay } from '../server/domain/idempotency/idempotency-service.ts'
import type { AnswerToKeep } from '../server/domain/idempotency/idempotent-run.ts'
import type { MeteredRequest } from '../server/domain/metering/metered-request.ts'
import type { Exchange } from './exchange.ts'
import { setBalanceHeaders, setRateLimitHeaders } from './headers.ts'
import { endBody } from './response-body.ts'
import { NOT_STORED_HEADER, writeChunks } from './write-chunks.ts'

/**
 * Answers a repeat of an earlier request from what was kept of it; otherwise has the request handled, with its answer held
 * back until it is kept. An answer that is an error is sent and forgotten.
 */
export function serveIdempotently(exchange: Exchange, handle: () => Promise<void>): Promise<void> {
  const key = exchange.header('idempotency-key')
  return key === undefined ? handle() : serveUnderKey(exchange, key, handle)
}

async function serveUnderKey(exchange: Exchange, key: string, handle: () => Promise<void>): Promise<void> {
  const { context, request, target, rawBody, services } = exchange
  const begun = await services.idempotency.begin({
    context,
    key,
    method: request.method ?? '',
    path: target.path,
    body: rawBody,
  })
  if (begun.kind === 'replay') return replay(exchange, begun.replay)
  const { run } = begun
  exchange.run = run
  try {
    await handle()
    const held = exchange.heldAnswer()
    if (!run.isAnswered && held !== undefined && held.status < 400) await run.answered({ ...held, price: null })
  } catch (error) {
    exchange.run = null
    await run.abandon()
    throw error
  }
  if (!run.isStored) exchange.setHeader(NOT_STORED_HEADER, 'false')
  exchange.sendHeld()
  await run.finish()
}

/** For a service that charges: it keeps its answer, as `toKept` puts it on the wire, before the charge. */
export function journalOf<Answer extends { metered: MeteredRequest }>(
  { run }: Exchange,
  toKept: (answer: Answer) => Omit<AnswerToKeep, 'price'>,
): AnswerJournal<Answer> | undefined {
  if (run === null) return undefined
  return {
    piece: (bytes) => run.piece(bytes),
    answered: (answer, usage) => {
      const { hold, grant } = answer.metered
      const price = {
        usage,
        maxNanoUsd: hold.amountNanoUsd,
        admittedAt: hold.admittedAt,
        ratePlan: grant.plan,
      }
      return run.answered({ ...toKept(answer), price })
    },
  }
}

async function replay(exchange: Exchange, { status, headers, bytes, body, grant }: Replay): Promise<void> {
  const { response, services } = exchange
  if (grant !== null) {
    setRateLimitHeaders(exchange, grant)
    setBalanceHeaders(exchange, await services.ledger.balances(exchange.requireCaller().accountId))
  }
  exchange.setHeaders(headers)
  exchange.setHeader('Idempotent-Replayed', 'true')
  response.statusCode = status
  if (status !== 204) exchange.setHeader('Content-Length', bytes)
  if (Buffer.isBuffer(body)) endBody(exchange, body)
  else await writeChunks(exchange, body)
}
