import type { Config } from '../config/config.ts'
import { BodyVault } from '../domain/idempotency/body-vault.ts'
import { IdempotencyRepository } from '../domain/idempotency/idempotency-repository.ts'
import { IdempotencyService } from '../domain/idempotency/idempotency-service.ts'
import type { LateMetering } from '../domain/metering/metered-request.ts'
import type { RateLimiter } from '../domain/rate-limits/rate-plan.ts'
import type { Infrastructure } from './infrastructure.ts'

export type IdempotencyParts = Pick<Infrastructure, 'db' | 'jobs' | 'clock' | 'log' | 'wait'> & {
  metering: LateMetering
  rateLimits: RateLimiter
  processId: string
}

const RPC_TIMEOUT_SECONDS = 30

export function createIdempotencyService(config: Config, parts: IdempotencyParts): IdempotencyService {
  const { db, jobs, clock, log, wait, metering, rateLimits, processId } = parts
  return new IdempotencyService({
    records: new IdempotencyRepository(db, jobs),
    metering,
    rateLimiter: rateLimits,
    limits: config.idempotency,
    vault: new BodyVault(config.secrets.keyPepper),
    clock,
    processId,
    wait,
    waitMsMax: longestTimeoutSeconds(config) * 1_000,
    log,
  })
}

/** The longest timeout of any upstream. */
function longestTimeoutSeconds({ providers, rpc }: Config): number {
  const nodes = Object.values(rpc.networks).flatMap(({ upstreams }) => upstreams)
  return Math.max(
    RPC_TIMEOUT_SECONDS,
    ...nodes.map(({ timeoutSeconds }) => timeoutSeconds),
    ...providers.map((provider) => (provider.kind === 'openai' ? provider.timeoutSeconds : 0)),
  )
}
