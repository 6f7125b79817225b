import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config/config.ts'
import {
  createEmbeddedDatabase,
  createPostgresDatabase,
  type DatabaseConnections,
  type DatabaseHandle,
  pingDatabase,
} from '../db/database.ts'
import { migrateToLatest } from '../db/migrate.ts'
import { type Clock, systemClock } from '../domain/clock.ts'
import { createIdSource, type IdSource } from '../domain/ids.ts'
import type { InferenceProvider } from '../domain/inference/providers/provider.ts'
import type { Log } from '../domain/log.ts'
import type { PaymentNetwork } from '../domain/payments/payment-network.ts'
import type { PubSub } from '../domain/pub-sub.ts'
import { LimitShare } from '../domain/rate-limits/limit-share.ts'
import type { WindowStore } from '../domain/rate-limits/window-store.ts'
import type { StakingChain } from '../domain/wallets/stakes/staking-chain.ts'
import { createLog } from '../observability/log.ts'
import { createMetrics, type Metrics } from '../observability/metrics.ts'
import { createStores } from '../store/create-stores.ts'
import { createProviders } from '../upstream/inference/create-providers.ts'
import { BaseStakingChain } from '../upstream/staking/base-staking-chain.ts'
import { createPaymentNetworks } from './create-payment-networks.ts'
import { lockFolder } from './folder-lock.ts'

/** Everything outside the domain that the services depend on; tests replace parts of it. */
export interface Infrastructure extends DatabaseConnections {
  clock: Clock
  ids: IdSource
  log: Log
  metrics: Metrics
  checkDatabase: DatabaseHandle['check']
  windows: WindowStore
  /** The share of each limit that this process admits without a shared store. */
  limitShare: LimitShare
  pubSub: PubSub
  providers: ReadonlyMap<string, InferenceProvider>
  /** Chains on which wallets pay. */
  paymentNetworks: readonly PaymentNetwork[]
  /** The contract in which wallets stake for DIEM; null: none. */
  stakingChain: StakingChain | null
  wait: (milliseconds: number) => Promise<void>
  /** True if no other process can ever use the database: it is the embedded one, behind its folder lock. */
  ownsDatabase: boolean
  /** True if Redis is configured but does not respond. */
  isStoreDegraded: () => boolean
  close: () => Promise<void>
}

/** Parts that a test may replace; a database given here is already migrated and is closed by its owner. */
export type InfrastructureOverrides = Partial<
  Pick<Infrastructure, 'clock' | 'ids' | 'log' | 'db' | 'runStatement' | 'providers' | 'wait'>
>

export async function createInfrastructure(
  config: Config,
  overrides: InfrastructureOverrides = {},
): Promise<Infrastructure> {
  const clock = overrides.clock ?? systemClock
  const log = overrides.log ?? createLog(config.logLevel)
  const metrics = createMetrics()
  const wait = overrides.wait ?? ((milliseconds: number) => sleep(milliseconds))
  const paymentNetworks = await createPaymentNetworks(config.x402, { clock, log, wait })
  const database =
    overrides.db === undefined ? await openDatabase(config, log) : ofCaller(overrides.db, overrides.runStatement)
  const limitShare = new LimitShare(clock)
  const stores = await createStores({
    redisUrl: config.redis?.url ?? null,
    log,
    clock,
    shareOf: limitShare.of,
    countRateStoreLoss: metrics.countRateStoreLoss,
  })
  const providers = overrides.providers ?? createProviders(config.providers)
  return {
    clock,
    log,
    metrics,
    ids: overrides.ids ?? createIdSource(clock),
    db: database.db,
    leases: database.leases,
    reports: database.reports,
    jobs: database.jobs,
    runStatement: database.runStatement,
    checkDatabase: database.check,
    windows: stores.windows,
    limitShare,
    pubSub: stores.pubSub,
    providers,
    paymentNetworks,
    stakingChain: createStakingChain(config),
    wait,
    ownsDatabase: overrides.db === undefined && config.database.kind === 'embedded',
    isStoreDegraded: stores.isDegraded,
    close: async () => {
      await Promise.all([...providers.values()].map((provider) => provider.close()))
      await stores.close()
      await database.close()
    },
  }
}

/** The node that confirms payments on Base also reads stakes, unless another one is configured. */
function createStakingChain({ staking, x402 }: Config): StakingChain | null {
  const rpcUrl = staking?.rpcUrl ?? x402.base?.rpcUrl
  return staking === undefined || rpcUrl === undefined ? null : new BaseStakingChain({ ...staking, rpcUrl })
}

/** A database opened by the caller, with the same connections for everything. */
function ofCaller(db: DatabaseHandle['db'], runStatement: DatabaseHandle['runStatement']): DatabaseHandle {
  return { db, leases: db, reports: db, jobs: db, runStatement, check: () => pingDatabase(db), close: async () => {} }
}

async function openDatabase(config: Config, log: Log): Promise<DatabaseHandle> {
  if (config.database.kind === 'postgres') {
    const handle = createPostgresDatabase(config.database.url, (error) =>
      log.warn('an idle database connection was lost', { error }),
    )
    await migrateToLatest(handle.jobs)
    return handle
  }
  const unlock = await lockFolder(config.database.dataDir)
  const handle = await createEmbeddedDatabase(`${config.database.dataDir}/database`)
  await migrateToLatest(handle.jobs)
  return {
    ...handle,
    close: async () => {
      await handle.close()
      await unlock()
    },
  }
}
