import { AccountChanges } from '../domain/ledger/account-changes.ts'
import { BalanceFeed } from '../domain/ledger/balance-feed.ts'
import { DiemAllowance } from '../domain/ledger/diem-allowance.ts'
import { LedgerRepository } from '../domain/ledger/ledger-repository.ts'
import { LedgerService } from '../domain/ledger/ledger-service.ts'
import { HoldRepository } from '../domain/metering/hold-repository.ts'
import { HoldSweeper } from '../domain/metering/hold-sweeper.ts'
import { MeteredRuns } from '../domain/metering/metered-runs.ts'
import { MeteringService, type Patience } from '../domain/metering/metering-service.ts'
import type { RateLimiter } from '../domain/rate-limits/rate-plan.ts'
import { SnapshotRepository } from '../domain/verify/snapshot-repository.ts'
import { Verifier } from '../domain/verify/verifier.ts'
import { VERIFY_SCANS } from '../domain/verify/verify-scans.ts'
import type { Infrastructure } from './infrastructure.ts'

export interface MoneyParts
  extends Pick<Infrastructure, 'db' | 'runStatement' | 'clock' | 'ids' | 'log' | 'pubSub' | 'wait'>,
    Partial<Pick<Infrastructure, 'leases' | 'reports' | 'jobs'>> {
  rateLimits: RateLimiter
  /** Default: none. */
  walletMinimumNanoUsd?: bigint
  /** Replaces the database's own repository, for tests that make it fail. */
  holds?: HoldRepository
  /** Replaces the default, for tests. */
  patience?: Patience
}

/** One process's money path: holds and settlements under its lease, the ledger, and the feed of balances. */
export function createMoney(parts: MoneyParts) {
  const { db, runStatement, clock, ids, log, pubSub, wait, rateLimits: rateLimiter } = parts
  const { leases = db, reports = db, jobs = db, holds = new HoldRepository(leases, runStatement) } = parts
  const processId = ids.uuid()
  const ledgerRepository = new LedgerRepository(db, reports)
  const diemAllowance = new DiemAllowance({ ledger: ledgerRepository, clock, ids })
  const accountChanges = new AccountChanges({ pubSub })
  const balanceFeed = new BalanceFeed({ changes: accountChanges, ledger: ledgerRepository, log })
  const metering = new MeteringService({
    holds,
    rateLimiter,
    diemAllowance,
    balanceFeed,
    clock,
    ids,
    processId,
    walletMinimumNanoUsd: parts.walletMinimumNanoUsd ?? 0n,
    wait,
    patience: parts.patience,
  })
  const sweeper = new HoldSweeper({
    holds,
    settle: (item) => metering.settleItem(item),
    isUnderWay: (requestId) => metering.isUnderWay(requestId),
    expireRest: (hold, restNano) => diemAllowance.expireRest(hold, restNano),
    released: (accountId) => balanceFeed.changed(accountId),
    processId,
    clock,
    log,
  })
  const ledger = new LedgerService({
    ledger: ledgerRepository,
    verifier: new Verifier({ snapshots: new SnapshotRepository(jobs), scans: VERIFY_SCANS, clock }),
    diemAllowance,
    balanceFeed,
    clock,
    ids,
  })
  const runs = new MeteredRuns({ metering, clock, log })
  return {
    metering,
    runs,
    sweeper,
    ledger,
    ledgerRepository,
    diemAllowance,
    accountChanges,
    balanceFeed,
    processId,
    holds,
  }
}
