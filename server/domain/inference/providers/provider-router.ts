import type { ModelDefinition } from '../../catalogue/model-definition.ts'
import type { Clock } from '../../clock.ts'
import { DomainError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { UpstreamRecord, type UpstreamSummary } from '../../upstream-record.ts'
import type { CircuitBreaker, CircuitState } from './circuit-breaker.ts'
import type { InferenceProvider, ProviderRequest, ProviderResponse } from './provider.ts'
import { isUsable, judgeRejection, judgeResponse, type ProviderFailure } from './provider-failure.ts'

/** A request to any provider of a model; each provider is sent its own name of the model. */
export type RoutedRequest = Omit<ProviderRequest, 'model'>

export interface RoutedResponse {
  response: ProviderResponse
  upstreamId: string
  retries: number
}

interface Candidate {
  provider: InferenceProvider
  /** The provider's name of the model. */
  providerModel: string
}

interface Asked {
  model: ModelDefinition
  request: RoutedRequest
}

type Attempt =
  | { healthy: true; response: ProviderResponse }
  | { healthy: boolean; response?: undefined; failure: ProviderFailure }

interface ProviderRouterDeps {
  providers: ReadonlyMap<string, InferenceProvider>
  createBreaker: () => CircuitBreaker
  clock: Clock
  log: Log
}

export interface ProviderHealth extends UpstreamSummary {
  providerId: string
  kind: InferenceProvider['kind']
  circuit: CircuitState
}

/**
 * Sends a request to the first of a model's providers that responds. Fails over only before the first byte of a response,
 * and never if the request itself is at fault. Skips open circuits; if all are open, tries the first provider, because
 * rejecting without trying helps nobody.
 */
export class ProviderRouter {
  readonly #providers: ReadonlyMap<string, InferenceProvider>
  readonly #breakers: ReadonlyMap<string, CircuitBreaker>
  readonly #records: ReadonlyMap<string, UpstreamRecord>
  readonly #clock: Clock
  readonly #log: Log

  constructor({ providers, createBreaker, clock, log }: ProviderRouterDeps) {
    this.#providers = providers
    this.#breakers = new Map([...providers.keys()].map((id) => [id, createBreaker()]))
    this.#records = new Map([...providers.keys()].map((id) => [id, new UpstreamRecord()]))
    this.#clock = clock
    this.#log = log
  }

  /** All providers in configuration order. */
  health(): ProviderHealth[] {
    return [...this.#providers.values()].flatMap(({ id, kind }) => {
      const [breaker, record] = [this.#breakers.get(id), this.#records.get(id)]
      return breaker === undefined || record === undefined
        ? []
        : [{ providerId: id, kind, circuit: breaker.state, ...record.summary() }]
    })
  }

  /**
   * Fails with `upstream_rejected` (`upstreamStatus` 400, 404, 413, 422), `context_length_exceeded`,
   * `upstream_overloaded` (`retryAfterSeconds`), `upstream_timeout` or `upstream_failed`. If the caller aborts, the
   * provider's error passes through: check `signal.aborted` first.
   */
  async send(model: ModelDefinition, request: RoutedRequest): Promise<RoutedResponse> {
    const candidates = this.#candidates(model)
    let retries = 0
    let last: ProviderFailure | undefined
    for (const candidate of candidates) {
      const breaker = this.#breakers.get(candidate.provider.id)
      const attempt = await breaker?.run(() => this.#attempt(candidate, { model, request }))
      if (attempt === undefined) continue
      if (attempt.response !== undefined) return routed(candidate, attempt.response, retries)
      last = attempt.failure
      if (!last.failover) throw last.error
      this.#logFailure(last, { candidate, model })
      retries += 1
    }
    if (last !== undefined) throw last.error
    const first = candidates[0]
    if (first === undefined) {
      throw new DomainError('unavailable', `No provider of the model ${model.id} is configured. Choose another model.`)
    }
    const attempt = await this.#attempt(first, { model, request })
    if (attempt.response !== undefined) return routed(first, attempt.response, 0)
    if (attempt.failure.failover) this.#logFailure(attempt.failure, { candidate: first, model })
    throw attempt.failure.error
  }

  async #attempt({ provider, providerModel }: Candidate, { model, request }: Asked): Promise<Attempt> {
    const { accepts, signal } = request
    const record = this.#records.get(provider.id)
    const startedMs = this.#clock.nowMs()
    let response: ProviderResponse
    try {
      response = await provider.send({ ...request, model: providerModel })
    } catch (error) {
      if (signal.aborted) throw error
      const failure = judgeRejection(error)
      record?.failed(this.#clock.nowMs(), failure.error.code)
      return { healthy: failure.healthy, failure }
    }
    if (isUsable(response, accepts)) {
      record?.succeeded(startedMs, this.#clock.nowMs())
      return { healthy: true, response }
    }
    const failure = await judgeResponse(response, { providerModel, modelId: model.id })
    signal.throwIfAborted()
    // Rejecting a faulty request counts as a success of the provider.
    if (failure.failover) record?.failed(this.#clock.nowMs(), describe(failure))
    else record?.succeeded(startedMs, this.#clock.nowMs())
    return { healthy: failure.healthy, failure }
  }

  #logFailure(failure: ProviderFailure, { candidate, model }: { candidate: Candidate; model: ModelDefinition }): void {
    const facts = {
      providerId: candidate.provider.id,
      modelId: model.id,
      code: failure.error.code,
      status: failure.status,
    }
    this.#log.warn('model provider failed', { ...facts, error: failure.error.cause })
  }

  #candidates(model: ModelDefinition): Candidate[] {
    return model.providers.flatMap((entry) => {
      const provider = this.#providers.get(entry.id)
      return provider === undefined ? [] : [{ provider, providerModel: entry.model }]
    })
  }
}

function routed(candidate: Candidate, response: ProviderResponse, retries: number): RoutedResponse {
  return { response, upstreamId: candidate.provider.id, retries }
}

function describe({ error, status }: ProviderFailure): string {
  return status === undefined ? error.code : `${error.code} (status ${status})`
}
