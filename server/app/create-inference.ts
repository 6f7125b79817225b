import type { Config } from '../config/config.ts'
import type { CredentialWatch } from '../domain/auth/credential-watch.ts'
import { Catalogue } from '../domain/catalogue/catalogue.ts'
import { ChatService } from '../domain/inference/chat/chat-service.ts'
import { ServiceParameterReader } from '../domain/inference/chat/plan/service-parameters.ts'
import { EmbeddingService } from '../domain/inference/embeddings/embedding-service.ts'
import { ProviderRouter } from '../domain/inference/providers/provider-router.ts'
import { QuoteService } from '../domain/inference/quotes/quote-service.ts'
import { TokenCounter } from '../domain/inference/tokens/token-counter.ts'
import type { MeteredRuns } from '../domain/metering/metered-runs.ts'
import type { RatePlans } from '../domain/rate-limits/rate-plans.ts'
import { createCircuitBreaker } from '../upstream/inference/circuit-breaker.ts'
import type { Infrastructure } from './infrastructure.ts'

export interface InferenceParts extends Pick<Infrastructure, 'clock' | 'log' | 'providers'> {
  runs: MeteredRuns
  ratePlans: RatePlans
  credentialWatch: CredentialWatch
}

export function createInferenceServices(config: Config, parts: InferenceParts) {
  const { clock, log, providers, runs, ratePlans, credentialWatch } = parts
  const { name: serviceName, systemPrompts } = config.service
  const catalogue = new Catalogue({ models: config.models, compatibility: config.compatibility, serviceName, clock })
  const providerRouter = new ProviderRouter({ providers, createBreaker: createCircuitBreaker, clock, log })
  // Its encoding takes 58 MB and a tenth of a second, so the first request that counts tokens loads it.
  const counter = new TokenCounter()
  const common = { catalogue, counter, ratePlans, router: providerRouter, runs, clock, log, serviceName }
  return {
    catalogue,
    providerRouter,
    chat: new ChatService({ ...common, credentialWatch, systemPrompts }),
    embeddings: new EmbeddingService(common),
    quotes: new QuoteService({
      catalogue,
      counter,
      parameters: new ServiceParameterReader(serviceName),
      systemPrompts,
    }),
  }
}
