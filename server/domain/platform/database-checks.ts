import { addDays, type Clock, utcDay } from '../clock.ts'
import { failed, ok, type PlatformCheck, warning } from './platform-check.ts'
import type { PlatformRepository } from './platform-repository.ts'

const SKEW_MS_MAX = 2_000
/** Sign-in messages of wallets tolerate this difference; with a larger one they are rejected. */
const SKEW_MS_HARMFUL = 30_000
const HOLDS_STALE_SECONDS = 60
const ACTION_MS_MAX = 600_000

export async function checkDatabase(repository: PlatformRepository, clock: Clock): Promise<PlatformCheck[]> {
  const askedMs = clock.nowMs()
  const facts = await repository.databaseFacts()
  const answeredMs = clock.nowMs()
  // The database read its clock at some time between the query and the result.
  const skewMs = Math.max(askedMs - facts.now.getTime(), facts.now.getTime() - answeredMs, 0)
  return [
    ok('database', `PostgreSQL ${facts.version} responded within ${answeredMs - askedMs} ms`),
    facts.synchronousCommit === 'off' || facts.fsync === 'off'
      ? warning(
          'durability',
          `synchronous_commit is ${facts.synchronousCommit} and fsync is ${facts.fsync}: a crash of its machine loses confirmed charges; set both on, or use PostgreSQL instead of the embedded database`,
        )
      : ok('durability', `synchronous_commit is ${facts.synchronousCommit}`),
    judgeSkew(skewMs),
  ]
}

function judgeSkew(skewMs: number): PlatformCheck {
  if (skewMs <= SKEW_MS_MAX) return ok('clock_skew', `the clocks of this process and of the database agree`)
  const detail = `the clocks of this process and of the database differ by ${Math.round(skewMs / 1_000)} s: synchronize both with NTP`
  return skewMs > SKEW_MS_HARMFUL ? failed('clock_skew', detail) : warning('clock_skew', detail)
}

/**
 * Checks for the partitions, because events without one go to the default partition, where old days cannot be dropped as
 * a whole.
 */
export async function checkPartitions(repository: PlatformRepository, clock: Clock): Promise<PlatformCheck[]> {
  const tomorrow = addDays(utcDay(clock.now()), 1)
  if (await repository.hasUsagePartition(tomorrow)) {
    return [ok('usage_partitions', `the day ${tomorrow} has its partition`)]
  }
  const detail = `the day ${tomorrow} has no partition yet; maintenance creates it every hour: search the log for "maintenance failed"`
  return [warning('usage_partitions', detail)]
}

export async function checkHolds(repository: PlatformRepository): Promise<PlatformCheck[]> {
  const count = await repository.countAbandonedHolds(HOLDS_STALE_SECONDS)
  if (count === 0) return [ok('abandoned_holds', 'there are no abandoned holds')]
  const detail = `${count} holds of processes that ended more than ${HOLDS_STALE_SECONDS} s ago are not released: check that a process runs its sweeper`
  return [warning('abandoned_holds', detail)]
}

export async function checkOperatorActions(repository: PlatformRepository, clock: Clock): Promise<PlatformCheck[]> {
  const count = await repository.countUnfinishedActions(new Date(clock.nowMs() - ACTION_MS_MAX))
  if (count === 0) return [ok('operator_actions', 'every action of an operator has ended')]
  const detail = `${count} operator actions never ended, so their effect is unknown: \`audit list --outcome started\` lists them`
  return [warning('operator_actions', detail)]
}
