import { withDeadline } from '../store/deadline.ts'
import type { Parts } from './create-services.ts'
import type { Infrastructure } from './infrastructure.ts'
import { type MaintenanceTask, startMaintenance } from './maintenance.ts'

/** How long a shutdown waits for a reading of stakes. */
const STAKES_DEADLINE_MS = 1_000

/** How long a shutdown waits for charges that a lost database keeps from being written. */
const SETTLE_DEADLINE_MS = 5_000

type Surroundings = Pick<Infrastructure, 'log' | 'ownsDatabase'>

/**
 * Takes the process's lease, subscribes to messages and starts the background work; requests may be served only
 * afterwards. Returns a function that stops the background work.
 */
export async function startServices(parts: Parts, surroundings: Surroundings): Promise<() => void> {
  const { accounts, limits, money, operations, payments, processWatch, usageRetention } = parts
  const { log, ownsDatabase } = surroundings
  // Holds in a database that only this process uses were left by a killed process; no lease has to expire first.
  if (ownsDatabase) await money.sweeper.sweep(0)
  await Promise.all([money.sweeper.start(), money.accountChanges.start(), accounts.events.start(), limits.start()])
  await Promise.all([operations.catalogueChanges.start(), processWatch.start()])
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
    // Messages about changes may be lost, and without Redis other processes send none.
    ...(ownsDatabase ? [] : [{ name: 'catalogue', everySeconds: 1, run: () => operations.catalogueChanges.refresh() }]),
  ]
}

/** Waits for settlements in progress, then releases everything. */
export async function stopServices(parts: Parts, { log }: Surroundings): Promise<void> {
  const { accounts, bodies, limits, money, operations, payments, processWatch, requests, rpc, wallets } = parts
  await withDeadline(Promise.all([money.metering.drained(), payments.drained()]), SETTLE_DEADLINE_MS).catch(
    (error: unknown) => log.warn('not everything could be settled; the rest is released or finished later', { error }),
  )
  // A node that hangs must not delay the shutdown; stakes that were not stored are read again.
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
    processWatch.close(),
    rpc.close(),
    bodies.close(),
  ])
}
