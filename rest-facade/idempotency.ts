import type { Replay } from '../server/domain/idempotency/idempotency-service.ts'
import type { AnswerToKeep, IdempotentRun } from '../server/domain/idempotency/idempotent-run.ts'
import type { AnswerJournal } from '../server/domain/metering/answer-journal.ts'
import type { MeteredRequest } from '../server/domain/metering/metered-request.ts'
import { showReplayed } from './account-headers.ts'
import type { Exchange } from './exchange.ts'
import { type Reply, sendStream, sendWhole, toContent, type WholeReply } from './reply.ts'
import { endBody } from './response-body.ts'
import { NOT_STORED_HEADER, writeChunks } from './write-chunks.ts'

/**
 * Responds to a repeat with the stored response; otherwise runs the handler and sends its response only after storing
 * it. An error response is sent but not stored.
 */
export async function serveUnderKey(exchange: Exchange, key: string, handle: () => Promise<Reply>): Promise<void> {
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
    const reply = await handle()
    if ('chunks' in reply) await sendStream(exchange, reply)
    else await sendKept(exchange, run, reply)
  } catch (error) {
    exchange.run = null
    await run.abandon()
    throw error
  }
  await run.finish()
}

async function sendKept(exchange: Exchange, run: IdempotentRun, reply: WholeReply): Promise<void> {
  const { status = 200 } = reply
  const whole = toContent(reply)
  if (!run.isAnswered && status < 400) {
    const headers = whole.contentType === null ? {} : { 'Content-Type': whole.contentType }
    await run.answered({ status, headers, body: Buffer.from(whole.content), price: null })
  }
  if (!run.isStored) exchange.setHeader(NOT_STORED_HEADER, 'false')
  sendWhole(exchange, reply, whole)
}

/** For a service that charges: it stores its response, encoded by `toKept`, before the charge. */
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
  const { response } = exchange
  if (grant !== null) await showReplayed(exchange, grant)
  exchange.setHeaders(headers)
  exchange.setHeader('Idempotent-Replayed', 'true')
  response.statusCode = status
  if (status !== 204) exchange.setHeader('Content-Length', bytes)
  if (Buffer.isBuffer(body)) endBody(exchange, body)
  else await writeChunks(exchange, body)
}
