import type { Config } from '../config/config.ts'
import { BodyReader } from '../domain/bodies/body-reader.ts'
import { ClientAddresses } from '../domain/client-addresses.ts'
import { CurrentLimitsService } from '../domain/current-limits/current-limits-service.ts'
import { STALE_SECONDS } from '../domain/metering/hold-sweeper.ts'
import { LimitOverrideRepository } from '../domain/rate-limits/limit-override-repository.ts'
import { LimitOverrideService } from '../domain/rate-limits/limit-override-service.ts'
import { ProcessRepository } from '../domain/rate-limits/process-repository.ts'
import { ProcessWatch } from '../domain/rate-limits/process-watch.ts'
import { RequestRepository } from '../domain/requests/request-repository.ts'
import type { Services } from '../domain/services.ts'
import { UsageClosing } from '../domain/usage/closing/usage-closing.ts'
import { UsageClosingRepository } from '../domain/usage/closing/usage-closing-repository.ts'
import { UsageHistoryRepository } from '../domain/usage/history/usage-history-repository.ts'
import { UsageHistoryService } from '../domain/usage/history/usage-history-service.ts'
import { UsageAnalyticsRepository } from '../domain/usage/reports/usage-analytics-repository.ts'
import { UsageAnalyticsService } from '../domain/usage/reports/usage-analytics-service.ts'
import { UsageRepository } from '../domain/usage/reports/usage-repository.ts'
import { UsageService } from '../domain/usage/reports/usage-service.ts'
import { UsagePartitionRepository } from '../domain/usage/retention/usage-partition-repository.ts'
import { UsageRetention } from '../domain/usage/retention/usage-retention.ts'
import { createAccounts } from './create-accounts.ts'
import { createIdempotencyService } from './create-idempotency.ts'
import { createInferenceServices } from './create-inference.ts'
import { createLimits } from './create-limits.ts'
import { createMoney } from './create-money.ts'
import { createOperations } from './create-operations.ts'
import { createPayments } from './create-payments.ts'
import { createRequests } from './create-requests.ts'
import { createRpcService } from './create-rpc.ts'
import { createWallets, walletMinimumNanoUsd } from './create-wallets.ts'
import type { Infrastructure } from './infrastructure.ts'

export type Parts = ReturnType<typeof createParts>

/** Creates every part of the service in dependency order. */
export function createParts(config: Config, infrastructure: Infrastructure) {
  const { clock, ids, log, db, jobs, limitShare } = infrastructure
  const limits = createLimits(config.limits, infrastructure)
  const { ratePlans, rateLimits } = limits
  const money = createMoney({ ...infrastructure, rateLimits, walletMinimumNanoUsd: walletMinimumNanoUsd(config) })
  const accounts = createAccounts(config, { ...infrastructure, ...limits, ...money })
  const { providerRouter, ...inference } = createInferenceServices(config, {
    ...infrastructure,
    ...money,
    ...accounts,
    ratePlans,
  })
  const bodies = new BodyReader()
  const rpc = createRpcService(config, { clock, log, ...money, ratePlans, rateLimits, bodies })
  const payments = createPayments(config, { ...infrastructure, ...money })
  const operations = createOperations(config, {
    ...infrastructure,
    providerRouter,
    catalogue: inference.catalogue,
    nodeRouter: rpc.router,
    inspector: rpc.inspector,
    payments: payments.operations,
  })
  return {
    bodies,
    limits,
    processWatch: new ProcessWatch({
      processes: new ProcessRepository(db),
      share: limitShare,
      processId: money.processId,
      staleSeconds: STALE_SECONDS,
      pubSub: infrastructure.pubSub,
      sharedStore: config.redis !== null,
      log,
    }),
    money,
    accounts,
    inference,
    rpc,
    payments,
    operations,
    idempotency: createIdempotencyService(config, { ...infrastructure, ...money, rateLimits }),
    requests: createRequests({ ...infrastructure, ...money }),
    wallets: createWallets(config, { ...infrastructure, ...limits, ...money, ...accounts }),
    usageClosing: new UsageClosing({ closings: new UsageClosingRepository(jobs), clock, ids }),
    usageRetention: new UsageRetention({ partitions: new UsagePartitionRepository(jobs), clock, ...config.usage }),
  }
}

/** The services that the fronts may call. */
export function toServices(config: Config, { clock, ids, log, db, reports }: Infrastructure, parts: Parts): Services {
  const { limits, money, accounts, inference, rpc, payments, operations, idempotency, requests, wallets } = parts
  return {
    identity: {
      serviceName: config.service.name,
      publicUrl: config.service.publicUrl,
      docsUrl: config.service.docsUrl,
      allowedOrigins: config.service.allowedOrigins,
      version: config.service.version,
      openAiErrors: config.errors.format === 'openai',
    },
    clientAddresses: new ClientAddresses(config.http.trustedProxies),
    clock,
    ids,
    log,
    bodies: parts.bodies,
    accounts: accounts.accounts,
    access: { auth: accounts.auth, apiKeys: accounts.apiKeys, credentialWatch: accounts.credentialWatch },
    limits: {
      ...limits,
      currentLimits: new CurrentLimitsService({ ...limits, ...inference, ...accounts, ledger: money.ledger, clock }),
      overrides: new LimitOverrideService({
        repository: new LimitOverrideRepository(db),
        ratePlans: limits.ratePlans,
        events: accounts.events,
      }),
    },
    money,
    usage: {
      cubes: new UsageService({
        usage: new UsageRepository(reports),
        clock,
        hourlyRetentionDays: config.usage.hourlyRetentionDays,
      }),
      analytics: new UsageAnalyticsService({ analytics: new UsageAnalyticsRepository(reports), clock }),
      history: new UsageHistoryService({
        history: new UsageHistoryRepository(reports),
        requests: new RequestRepository(reports),
      }),
      requests: requests.service,
    },
    models: { catalogue: inference.catalogue, changes: operations.catalogueChanges },
    inference,
    rpc: { proxy: rpc.service, nodes: rpc.inspector },
    wallets: wallets.services,
    payments: { payments: payments.service, options: payments.options, operations: payments.operations },
    operations,
    idempotency,
  }
}
