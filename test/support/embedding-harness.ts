import { Catalogue } from '../../server/domain/catalogue/catalogue.ts'
import { EmbeddingService } from '../../server/domain/inference/embeddings/embedding-service.ts'
import type { ProviderRouter } from '../../server/domain/inference/providers/provider-router.ts'
import { TokenCounter } from '../../server/domain/inference/tokens/token-counter.ts'
import { MeteredRuns } from '../../server/domain/metering/metered-runs.ts'
import { LimitTable } from '../../server/domain/rate-limits/limit-table.ts'
import { RatePlans } from '../../server/domain/rate-limits/rate-plans.ts'
import { keyCaller } from './callers.ts'
import { createFakeClock } from './fake-clock.ts'
import { createFakeMetering } from './fake-metering.ts'
import { createRecordingLog } from './recording-log.ts'
import { modelDefinition } from './text-models.ts'

export interface EmbeddingHarnessOptions {
  router: Pick<ProviderRouter, 'send'>
  /** Of the model `e`, which costs 20 nano-USD a token. */
  constraints?: Record<string, unknown>
}

/** The embedding service over a fake money path and a scripted provider, called by a key that may use private models only. */
export function createEmbeddingHarness({ router, constraints = {} }: EmbeddingHarnessOptions) {
  const clock = createFakeClock()
  const models = [
    modelDefinition({ id: 'e', type: 'embedding', pricing: { input: { usd: 0.02 } }, constraints }),
    modelDefinition({ id: 'hidden', type: 'embedding', privacy: 'anonymized' }),
    modelDefinition({ id: 'm' }),
  ]
  const metering = createFakeMetering()
  const service = new EmbeddingService({
    catalogue: new Catalogue({ models, compatibility: {}, serviceName: 'service', clock }),
    counter: new TokenCounter(),
    ratePlans: new RatePlans(LimitTable.parse({})),
    serviceName: 'service',
    runs: new MeteredRuns({ metering, clock, log: createRecordingLog() }),
    router,
  })
  const abort = new AbortController()
  const context = {
    requestId: '0'.repeat(32),
    caller: keyCaller({ modelPrivacy: 'PRIVATE_ONLY' }),
    signal: abort.signal,
  }
  const embed = (body: object) => service.embed(context, { model: 'e', input: 'hello world', ...body })
  return { service, metering, abort, context, embed }
}
