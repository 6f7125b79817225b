import type { Config } from '../config/config.ts'
import { AccountRepository } from '../domain/accounts/account-repository.ts'
import { AccountService } from '../domain/accounts/account-service.ts'
import { ApiKeyIssuer } from '../domain/api-keys/api-key-issuer.ts'
import { ApiKeyRepository } from '../domain/api-keys/api-key-repository.ts'
import { toKeyPrefix } from '../domain/api-keys/api-key-secret.ts'
import { ApiKeyService } from '../domain/api-keys/api-key-service.ts'
import { KeyEvents } from '../domain/api-keys/key-events.ts'
import { LastUsedRecorder } from '../domain/api-keys/last-used-recorder.ts'
import { AuthService } from '../domain/auth/auth-service.ts'
import { AbuseGuard } from '../domain/rate-limits/abuse-guard.ts'
import { RateLimitService } from '../domain/rate-limits/rate-limit-service.ts'
import { RatePlans } from '../domain/rate-limits/rate-plans.ts'
import { refusalsInLog } from '../domain/rate-limits/refusal-log.ts'
import type { Services } from '../domain/services.ts'
import { UsageRepository } from '../domain/usage/usage-repository.ts'
import { UsageService } from '../domain/usage/usage-service.ts'
import { withDeadline } from '../store/deadline.ts'
import { UsagePartitionRepository } from '../domain/usage/usage-partition-repository.ts'
import { createIdempotencyService } from './create-idempotency.ts'
import { createInferenceServices } from './create-inference.ts'
import { createMoney } from './create-money.ts'
import { createRpcService } from './create-rpc.ts'
import type { Infrastructure } from './infrastructure.ts'
import { startMaintenance } from './maintenance.ts'

/** How long the end of the process waits for charges that a lost database keeps from being written. */
const SETTLE_DEADLINE_MS = 5_000

export interface RunningServices {
  services: Services
  /** Takes the process's lease and its subscriptions; requests may be served only after it. */
  start: () => Promise<void>
  /** Waits for settlements in flight, then gives everything back. */
  stop: () => Promise<void>
}

export function createServices(config: Config, infrastructure: Infrastructure): RunningServices {
  const { clock, ids, log, db, pubSub, windows } = infrastructure
  const ratePlans = new RatePlans(config.limits)
  const rateLimits = new RateLimitService({ store: windows, clock, refusals: refusalsInLog(log), pubSub })
  const abuseGuard = new AbuseGuard({ limits: config.limits.abuse, clock, pubSub })
  const money = createMoney({ ...infrastructure, rateLimits })
  const keys = createKeys(config, { ...infrastructure, rateLimits, ratePlans })
  const accounts = new AccountService({
    accounts: new AccountRepository(db),
    issuer: keys.issuer,
    ledger: money.ledger,
    balances: money.ledgerRepository,
    events: keys.events,
    clock,
    ids,
  })
  const inference = createInferenceServices(config, { ...infrastructure, metering: money.metering, ratePlans })
  const rpc = createRpcService(config, { clock, log, metering: money.metering, ratePlans })
  const idempotency = createIdempotencyService(config, { ...infrastructure, ...money, rateLimits })
  const services: Services = {
    serviceName: config.service.name,
    version: config.service.version,
    openAiErrors: config.errors.format === 'openai',
    clock,
    ids,
    log,
    accounts,
    apiKeys: keys.apiKeys,
    auth: keys.auth,
    abuseGuard,
    ratePlans,
    rateLimits,
    metering: money.metering,
    ledger: money.ledger,
    usage: new UsageService({ usage: new UsageRepository(db), clock }),
    ...inference,
    rpc: rpc.service,
    rpcNodes: rpc.inspector,
    idempotency,
  }
  const usagePartitions = new UsagePartitionRepository(db)
  let stopMaintenance = (): void => {}
  return {
    services,
    start: async () => {
      // Holds in a database that is ours alone are left from a process that was killed; no lease has to run out first.
      if (infrastructure.ownsDatabase) await money.sweeper.sweep(0)
      await Promise.all([money.sweeper.start(), money.balanceFeed.start(), keys.events.start(), abuseGuard.start()])
      await usagePartitions.ensure(clock.now())
      const tasks = [
        { name: 'idempotency', everySeconds: 60, run: () => idempotency.maintain() },
        { name: 'usage partitions', everySeconds: 3_600, run: () => usagePartitions.ensure(clock.now()) },
      ]
      stopMaintenance = startMaintenance(tasks, log)
    },
    stop: async () => {
      stopMaintenance()
      await withDeadline(money.metering.drained(), SETTLE_DEADLINE_MS).catch((error: unknown) =>
        log.warn('not every request could be settled; a sweeper releases what is left', { error }),
      )
      await Promise.all([money.sweeper.stop(), money.balanceFeed.stop(), keys.lastUsed.close()])
      keys.auth.close()
      await Promise.all([keys.events.close(), abuseGuard.close(), rpc.close()])
    },
  }
}

type KeyParts = Pick<Infrastructure, 'db' | 'clock' | 'ids' | 'log' | 'pubSub'> & {
  rateLimits: RateLimitService
  ratePlans: RatePlans
}

function createKeys(config: Config, { db, clock, ids, log, pubSub, rateLimits, ratePlans }: KeyParts) {
  const pepper = config.secrets.keyPepper
  const repository = new ApiKeyRepository(db)
  const events = new KeyEvents({ pubSub })
  const lastUsed = new LastUsedRecorder({ repository, clock, log })
  const issuer = new ApiKeyIssuer({ ids, clock, prefix: toKeyPrefix(config.service.name), pepper })
  const auth = new AuthService({ repository, events, lastUsed, clock, pepper })
  const apiKeys = new ApiKeyService({
    repository,
    issuer,
    events,
    ratePlans,
    rateLimits,
    clock,
    activeKeysMax: config.limits.keys.activePerAccount,
  })
  return { events, lastUsed, issuer, auth, apiKeys }
}
