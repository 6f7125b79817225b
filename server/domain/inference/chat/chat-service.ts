import type { CredentialWatch } from '../../auth/credential-watch.ts'
import type { Caller, RequestContext } from '../../caller.ts'
import type { Clock } from '../../clock.ts'
import { DomainError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import type { Journaled } from '../../metering/answer-journal.ts'
import type { MeteredRequest } from '../../metering/metered-request.ts'
import type { MeteredRun } from '../../metering/metered-run.ts'
import type { MeteredRuns } from '../../metering/metered-runs.ts'
import type { ProviderRouter, RoutedResponse } from '../providers/provider-router.ts'
import { type ServedBy, toServedBy } from '../providers/served-by.ts'
import { completionBody, readCompletion, writtenText } from './openai-wire/chat-completion.ts'
import { encodeOpenAiStream } from './openai-wire/stream-encoder.ts'
import { type ChatPlan, type ChatPlannerDeps, planChat } from './plan/chat-plan.ts'
import { ServiceParameterReader } from './plan/service-parameters.ts'
import { ChatStreamRun } from './stream/chat-stream.ts'
import { StreamKey } from './stream/stream-key.ts'
import { measureUsage, toCharge } from './usage/chat-usage.ts'

export interface ChatCompletion {
  /** The JSON response of `POST /chat/completions`; its charge is durable. */
  body: Record<string, unknown>
  metered: MeteredRequest
  served: ServedBy
}

export interface ChatStream {
  /** Bytes of the event stream. Iterate it to its end or leave it by `break`: either settles the request. */
  frames: AsyncIterable<Buffer>
  metered: MeteredRequest
  served: ServedBy
}

export interface ChatServiceDeps extends Omit<ChatPlannerDeps, 'parameters'> {
  serviceName: string
  router: Pick<ProviderRouter, 'send'>
  runs: MeteredRuns
  credentialWatch: Pick<CredentialWatch, 'watch'>
  clock: Clock
  log: Log
}

/**
 * Chat completions. `plan` validates a request without reserving money; `complete` and `stream` run and charge it
 * (docs/money.md). They fail like `MeteredRuns.open` and `ProviderRouter.send`, and with `upstream_failed` for an
 * unusable response. A failed request is not charged.
 */
export class ChatService {
  readonly #deps: ChatServiceDeps
  readonly #plannerDeps: ChatPlannerDeps

  constructor(deps: ChatServiceDeps) {
    this.#deps = deps
    this.#plannerDeps = { ...deps, parameters: new ServiceParameterReader(deps.serviceName) }
  }

  /** Fails with `invalid_request`, `model_not_found`, `model_privacy`, `context_length_exceeded` or `unavailable`. */
  plan(caller: Caller, body: unknown): Promise<ChatPlan> {
    return planChat(caller, body, this.#plannerDeps)
  }

  /** With a journal in the context, the completion is stored before it is charged. */
  complete(context: Journaled<ChatCompletion>, plan: ChatPlan): Promise<ChatCompletion> {
    const { clock, counter, runs } = this.#deps
    return runs.run(context, plan, async (run) => {
      const routed = await this.#send(plan, run, context.signal)
      const completion = await readCompletion(routed.response)
      const usage = await measureUsage({
        plan,
        metered: run.metered,
        reported: completion.body['usage'],
        countCompletion: () => counter.countCompletion(writtenText(completion.choices)),
      })
      const charge = toCharge(usage, 'completed')
      const receipt = run.chargeOf(charge.lines)
      const fallback = { id: `chatcmpl-${context.requestId}`, createdSeconds: Math.floor(clock.nowMs() / 1_000) }
      const body = completionBody(completion, { plan, usage, receipt, fallback })
      const response = { body, metered: run.metered, served: toServedBy(plan.resolved, routed) }
      await run.settle(charge, response)
      return response
    })
  }

  /** Resolves with the first bytes that `encode` writes, so that an earlier failure can still set the HTTP status. */
  async stream(context: RequestContext, plan: ChatPlan, encode = encodeOpenAiStream): Promise<ChatStream> {
    const { clock, counter, credentialWatch, log, runs } = this.#deps
    const key = new StreamKey(credentialWatch, context)
    try {
      const run = await runs.open(context, plan)
      const routed = await this.#send(plan, run, key.signal).catch(async (error: unknown) => {
        throw await run.fail(error)
      })
      const stream = new ChatStreamRun({ context, key, plan, run, routed, encode, counter, clock, log })
      const first = await stream.next()
      return { frames: startedWith(first, stream), metered: run.metered, served: toServedBy(plan.resolved, routed) }
    } catch (error) {
      key.release()
      if (!key.isInactive) throw error
      throw new DomainError('unauthenticated', 'Authentication failed: the API key was revoked or has expired')
    }
  }

  async #send({ resolved, body, stream }: ChatPlan, run: MeteredRun, signal: AbortSignal): Promise<RoutedResponse> {
    const accepts = stream ? 'events' : 'json'
    const request = { operation: 'chat', body: { kind: 'json', value: body }, accepts, signal } as const
    const routed = await this.#deps.router.send(resolved.model, request)
    run.servedBy(routed)
    return routed
  }
}

function startedWith(first: IteratorResult<Buffer, undefined>, stream: ChatStreamRun): AsyncIterable<Buffer> {
  let taken: IteratorResult<Buffer, undefined> | undefined = first
  const iterator: AsyncIterator<Buffer, undefined> = {
    next: () => {
      if (taken === undefined) return stream.next()
      const result = taken
      taken = undefined
      return Promise.resolve(result)
    },
    return: () => stream.return(),
  }
  return { [Symbol.asyncIterator]: () => iterator }
}
