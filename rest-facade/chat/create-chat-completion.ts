import { ChatRequest } from '../../server/domain/inference/chat/chat-request.ts'
import { setMeteringHeaders } from '../headers.ts'
import { setModelHeaders } from '../models/model-headers.ts'
import { JSON_BODY_BYTES_MAX, type Route } from '../route.ts'
import { writeEventStream } from './write-event-stream.ts'

export const createChatCompletionRoute: Route = {
  method: 'post',
  path: '/chat/completions',
  access: 'inference',
  body: { kind: 'json', limitBytes: JSON_BODY_BYTES_MAX },
  summary: 'Answer a conversation, in one piece or as a stream of events',
  input: ChatRequest,
  async handler(exchange) {
    const { chat } = exchange.services
    const { context } = exchange
    const plan = await chat.plan(context.caller, exchange.body)
    const answer = plan.stream ? await chat.stream(context, plan) : await chat.complete(context, plan)
    setMeteringHeaders(exchange, answer.metered)
    setModelHeaders(exchange, answer.served)
    if ('frames' in answer) await writeEventStream(exchange, answer.frames)
    else exchange.json(200, answer.body)
  },
}
