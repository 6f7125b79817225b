import type { Caller, RequestContext } from '../../caller.ts'
import type { CredentialWatch } from '../../auth/credential-watch.ts'
import type { Clock } from '../../clock.ts'
import { DomainError } from '../../errors.ts'
import type { Journaled } from '../../idempotency/answer-journal.ts'
import type { Log } from '../../log.ts'
import { chargeOf, type UnchargedUsage } from '../../metering/hold.ts'
import type { MeteredRequest, Metering } from '../../metering/metered-request.ts'
import { completionBody, readCompletion, writtenText } from './openai-wire/chat-completion.ts'
import { type ChatPlan, type ChatPlannerDeps, planChat } from './plan/chat-plan.ts'
import { ChatStreamRun } from './stream/chat-stream.ts'
import { measureUsage } from './usage/chat-usage.ts'
import { toUnchargedUsage, toUsage } from './usage/chat-usage-record.ts'
import { ServiceParameterReader } from './plan/service-parameters.ts'
import { StreamKey } from './stream/stream-key.ts'
import type { ProviderRouter, RoutedResponse } from '../providers/provider-router.ts'
import type { ServedBy } from '../providers/served-by.ts'

export interface ChatCompletion {
  /** The JSON answer of `POST /chat/completions`; its charge is durable. */
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
  metering: Metering
  credentialWatch: Pick<CredentialWatch, 'watch'>
  clock: Clock
  log: Log
}

/**
 * Chat completions. `plan` checks a request without holding anything; `complete` and `stream` run it on the money path
 * (docs/money.md). They fail with what `Metering.open` and `ProviderRouter.send` fail with, and with
 * `upstream_failed` for an unusable answer; a request that fails is charged nothing.
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

  /** With a journal in the context, the completion is kept before it is charged. */
  async complete(context: Journaled<ChatCompletion>, plan: ChatPlan): Promise<ChatCompletion> {
    const { clock, counter } = this.#deps
    const startedAtMs = clock.nowMs()
    const { metered, routed } = await this.#open(context, plan)
    try {
      const completion = await readCompletion(routed.response)
      const usage = await measureUsage({
        plan,
        metered,
        reported: completion.body['usage'],
        countCompletion: () => counter.countCompletion(writtenText(completion.choices)),
      })
      const record = toUsage(usage, { plan, routed, outcome: 'completed', durationMs: clock.nowMs() - startedAtMs })
      const tokens = usage.tokens.promptTokens + usage.tokens.completionTokens
      const { currency, amountNanoUsd } = metered.hold
      const cost = { chargedNanoUsd: chargeOf(record, amountNanoUsd), currency }
      const fallback = { id: `chatcmpl-${context.requestId}`, createdSeconds: Math.floor(clock.nowMs() / 1_000) }
      const body = completionBody(completion, { plan, usage, receipt: cost, fallback })
      const answer = { body, metered, served: servedBy(plan, routed) }
      await context.journal?.answered(answer, record)
      await metered.settle(record, { tokens })
      return answer
    } catch (error) {
      const { signal } = context
      const durationMs = clock.nowMs() - startedAtMs
      // Where its answer may be kept under a key, a repeat can still have to pay for it under this id.
      const kept = context.journal !== undefined
      await this.#release(context, metered, kept ? undefined : toUnchargedUsage(plan, { signal, routed, durationMs }))
      throw clientLeft(context) ?? error
    }
  }

  /** Resolves with the first bytes, so that whatever fails before them fails with a status of its own. */
  async stream(context: RequestContext, plan: ChatPlan): Promise<ChatStream> {
    const { clock, counter, credentialWatch, log } = this.#deps
    const startedAtMs = clock.nowMs()
    const key = new StreamKey(credentialWatch, context)
    try {
      const { metered, routed } = await this.#open({ ...context, signal: key.signal }, plan)
      const run = new ChatStreamRun({ context, key, plan, metered, routed, startedAtMs, counter, clock, log })
      const first = await run.next()
      return { frames: startedWith(first, run), metered, served: servedBy(plan, routed) }
    } catch (error) {
      key.release()
      if (!key.isInactive) throw error
      throw new DomainError('unauthenticated', 'Authentication failed: the API key was revoked or has expired')
    }
  }

  async #open(context: RequestContext, plan: ChatPlan): Promise<{ metered: MeteredRequest; routed: RoutedResponse }> {
    const { metering, router, clock } = this.#deps
    const startedAtMs = clock.nowMs()
    const metered = await metering.open({ context, plan: plan.ratePlan, holdNanoUsd: plan.holdNanoUsd })
    try {
      const request = { operation: '/chat/completions', body: plan.body, signal: context.signal } as const
      return { metered, routed: await router.send(plan.resolved.model, request) }
    } catch (error) {
      const durationMs = clock.nowMs() - startedAtMs
      await this.#release(context, metered, toUnchargedUsage(plan, { signal: context.signal, durationMs }))
      throw clientLeft(context) ?? error
    }
  }

  async #release({ requestId }: RequestContext, metered: MeteredRequest, usage?: UnchargedUsage): Promise<void> {
    try {
      await metered.release(usage)
    } catch (error) {
      // The sweeper frees what could not be freed now; the caller needs to hear of the first failure.
      this.#deps.log.error('hold could not be released', { requestId, error })
    }
  }
}

/** Nobody reads this answer, but what is logged of it should be true. */
function clientLeft({ signal }: RequestContext): DomainError | undefined {
  return signal.aborted
    ? new DomainError('unavailable', 'The client closed the request before its answer began')
    : undefined
}

function servedBy({ resolved }: ChatPlan, { providerId, retries }: RoutedResponse): ServedBy {
  return { model: resolved.model, deprecation: resolved.deprecation, providerId, retries }
}

/** The run, with its first result taken already. */
function startedWith(first: IteratorResult<Buffer, undefined>, run: ChatStreamRun): AsyncIterable<Buffer> {
  let taken: IteratorResult<Buffer, undefined> | undefined = first
  const iterator: AsyncIterator<Buffer, undefined> = {
    next: () => {
      if (taken === undefined) return run.next()
      const result = taken
      taken = undefined
      return Promise.resolve(result)
    },
    return: () => run.return(),
  }
  return { [Symbol.asyncIterator]: () => iterator }
}
