import type { Caller } from '../../server/domain/caller.ts'
import type { DomainError } from '../../server/domain/errors.ts'
import type { ChatCompletion } from '../../server/domain/inference/chat/chat-service.ts'
import { ChatRequest } from '../../server/domain/inference/chat/plan/chat-request.ts'
import type { RatePlan } from '../../server/domain/rate-limits/rate-plan.ts'
import { invalidField } from '../../server/domain/validation/parse-input.ts'
import type { Exchange } from '../exchange.ts'
import { journalOf } from '../idempotency.ts'
import { modelHeaders, toKeptAnswer } from '../models/model-headers.ts'
import { modelNameOf } from '../models/model-name-of.ts'
import { defineRoute, JSON_BODY_BYTES_MAX } from '../route.ts'
import { PROVIDER_ERRORS } from '../route-errors.ts'
import { ChatCompletionBody } from './chat-completion-body.ts'
import { EVENT_STREAM, eventStream } from './event-stream.ts'

export const createChatCompletionRoute = defineRoute({
  method: 'post',
  path: '/chat/completions',
  access: 'inference',
  limits: { counted: 'by_service', plan: toTextRatePlan },
  idempotent: true,
  body: { kind: 'json', limitBytes: JSON_BODY_BYTES_MAX, schema: ChatRequest },
  summary: 'Create a chat completion, as JSON or as a stream of events',
  output: { json: ChatCompletionBody, stream: [EVENT_STREAM] },
  errors: ['invalid_request', 'model_not_found', 'model_privacy', 'context_length_exceeded', ...PROVIDER_ERRORS],
  async handler(exchange) {
    const { chat } = exchange.services.inference
    const { context } = exchange
    const plan = await chat.plan(context.caller, exchange.body)
    if (plan.stream && exchange.run !== null) throw streamUnderKey()
    const journal = journalOf<ChatCompletion>(exchange, (completion) => toKeptAnswer(exchange, completion))
    const answer = plan.stream ? await chat.stream(context, plan) : await chat.complete({ ...context, journal }, plan)
    const head = { headers: modelHeaders(exchange, answer.served), metered: answer.metered }
    return 'frames' in answer ? eventStream(head, answer.frames) : { ...head, json: answer.body }
  },
})

/** The windows of the model that the body names, if that model exists. */
function toTextRatePlan({ services, body }: Exchange, caller: Caller): RatePlan | undefined {
  const model = services.models.catalogue.findNamed(modelNameOf(body), 'text')
  return model === undefined ? undefined : services.limits.ratePlans.planForText(caller, model, 0)
}

function streamUnderKey(): DomainError {
  return invalidField(
    'stream',
    'a stream cannot be repeated and does not support Idempotency-Key; send "stream": false or omit the header',
  )
}
