import type { Caller } from '../../server/domain/caller.ts'
import type { RatePlan } from '../../server/domain/rate-limits/rate-plan.ts'
import type { DomainError } from '../../server/domain/errors.ts'
import type { ChatCompletion } from '../../server/domain/inference/chat/chat-service.ts'
import { ChatRequest } from '../../server/domain/inference/chat/plan/chat-request.ts'
import { invalidField } from '../../server/domain/validation/parse-input.ts'
import type { Exchange } from '../exchange.ts'
import { setMeteringHeaders } from '../headers.ts'
import { journalOf } from '../idempotency.ts'
import { setModelHeaders, toKeptAnswer } from '../models/model-headers.ts'
import { modelNameOf } from '../models/model-name-of.ts'
import { JSON_BODY_BYTES_MAX, type Route } from '../route.ts'
import { writeEventStream } from './write-event-stream.ts'

export const createChatCompletionRoute: Route = {
  method: 'post',
  path: '/chat/completions',
  access: 'inference',
  idempotent: true,
  body: { kind: 'json', limitBytes: JSON_BODY_BYTES_MAX },
  ratePlan: toTextRatePlan,
  summary: 'Create a chat completion, as JSON or as a stream of events',
  input: ChatRequest,
  async handler(exchange) {
    const { chat } = exchange.services
    const { context } = exchange
    const plan = await chat.plan(context.caller, exchange.body)
    if (plan.stream && exchange.run !== null) throw streamUnderKey()
    const journal = journalOf<ChatCompletion>(exchange, (completion) => toKeptAnswer(exchange, completion))
    const answer = plan.stream ? await chat.stream(context, plan) : await chat.complete({ ...context, journal }, plan)
    setMeteringHeaders(exchange, answer.metered)
    setModelHeaders(exchange, answer.served)
    if ('frames' in answer) await writeEventStream(exchange, answer.frames)
    else exchange.json(200, answer.body)
  },
}

/** The windows of the model that the body names, if there is one. */
function toTextRatePlan({ services, body }: Exchange, caller: Caller): RatePlan | undefined {
  const model = services.catalogue.findNamed(modelNameOf(body), 'text')
  return model === undefined ? undefined : services.ratePlans.planForText(caller, model, 0)
}

function streamUnderKey(): DomainError {
  return invalidField(
    'stream',
    'a stream cannot be repeated and does not support Idempotency-Key; send "stream": false or omit the header',
  )
}
