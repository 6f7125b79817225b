import { withDeadline } from '../store/deadline.ts'
import type { Parts } from './create-services.ts'
import type { Infrastructure } from './infrastructure.ts'
import { type MaintenanceTask, startMaintenance } from './maintenance.ts'

/** How long the end of the process waits for a reading of stakes. */
const STAKES_DEADLINE_MS = 1_000

/** How long the end of the process waits for charges that a lost database keeps from being written. */
const SETTLE_DEADLINE_MS = 5_000

type Surroundings = Pick<Infrastructure, 'log' | 'ownsDatabase'>

/**
 * Takes the process's lease and its subscriptions, and begins the work in the background; requests may be served only
 * after it. Gives back how the background work is ended.
 */
export async function startServices(parts: Parts, surroundings: Surroundings): Promise<() => void> {
  const { accounts, limits, money, operations, payments, processWatch, usageRetention } = parts
  const { log, ownsDatabase } = surroundings
  // Holds in a database that is ours alone are left from a process that was killed; no lease has to run out first.
  if (ownsDatabase) await money.sweeper.sweep(0)
  await Promise.all([money.sweeper.start(), money.accountChanges.start(), accounts.events.start(), limits.start()])
  await Promise.all([operations.catalogueChanges.start(), processWatch.refresh()])
  await usageRetention.prepare()
  const stopMaintenance = startMaintenance(maintenanceTasks(parts, surroundings), log)
  payments.start(ownsDatabase)
  return stopMaintenance
}

function maintenanceTasks(
  { idempotency, limits, operations, payments, processWatch, usageClosing, usageRetention, wallets }: Parts,
  { ownsDatabase }: Surroundings,
): MaintenanceTask[] {
  return [
    { name: 'idempotency', everySeconds: 60, run: () => idempotency.maintain() },
    { name: 'refusals', everySeconds: 60, run: () => limits.refusals.maintain() },
    ...payments.tasks,
    ...wallets.tasks,
    { name: 'usage retention', everySeconds: 900, run: () => usageRetention.maintain() },
    { name: 'usage closing', everySeconds: 900, run: () => usageClosing.closeDays() },
    ...(ownsDatabase ? [] : [{ name: 'limit shares', everySeconds: 2, run: () => processWatch.refresh() }]),
    // A message about a change may be lost, and without Redis other processes send none.
    ...(ownsDatabase ? [] : [{ name: 'catalogue', everySeconds: 1, run: () => operations.catalogueChanges.refresh() }]),
  ]
}

/** Waits for settlements in flight, then gives everything back. */
export async function stopServices(parts: Parts, { log }: Surroundings): Promise<void> {
  const { accounts, bodies, limits, money, operations, payments, requests, rpc, wallets } = parts
  await withDeadline(Promise.all([money.metering.drained(), payments.drained()]), SETTLE_DEADLINE_MS).catch(
    (error: unknown) => log.warn('not everything could be settled; the rest is released or finished later', { error }),
  )
  // A node that hangs must not hold up the end; what was not stored is read again.
  await withDeadline(wallets.stakes.stop(), STAKES_DEADLINE_MS).catch(() => undefined)
  money.balanceFeed.stop()
  requests.feed.stop()
  await Promise.all([money.sweeper.stop(), money.accountChanges.stop(), accounts.lastUsed.close()])
  accounts.auth.close()
  accounts.credentialWatch.close()
  wallets.accounts.close()
  await Promise.all([
    accounts.events.close(),
    limits.stop(),
    operations.catalogueChanges.close(),
    rpc.close(),
    bodies.close(),
  ])
}
