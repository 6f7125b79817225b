import { AbuseGuard } from '../domain/rate-limits/abuse-guard.ts'
import type { LimitTable } from '../domain/rate-limits/limit-table.ts'
import { RateLimitService } from '../domain/rate-limits/rate-limit-service.ts'
import { RatePlans } from '../domain/rate-limits/rate-plans.ts'
import { RefusalFeed } from '../domain/rate-limits/refusal-feed.ts'
import { RefusalLog } from '../domain/rate-limits/refusal-log.ts'
import { RefusalRepository } from '../domain/rate-limits/refusal-repository.ts'
import type { Infrastructure } from './infrastructure.ts'

/** The limiter of one process, its guard against failed requests, and the log of rejections by both. */
export function createLimits(
  limits: LimitTable,
  parts: Pick<Infrastructure, 'windows' | 'clock' | 'ids' | 'log' | 'db' | 'reports' | 'jobs' | 'pubSub'>,
) {
  const { windows, clock, ids, log, db, reports, jobs, pubSub } = parts
  const feed = new RefusalFeed({ pubSub, log })
  const refusals = new RefusalLog({ repository: new RefusalRepository(db, { reports, jobs }), feed, clock, ids, log })
  const abuseGuard = new AbuseGuard({ limits: limits.abuse, clock, ids, pubSub, refusals })
  return {
    ratePlans: new RatePlans(limits),
    rateLimits: new RateLimitService({ store: windows, clock, refusals }),
    abuseGuard,
    refusals,
    start: async () => {
      await Promise.all([feed.start(), abuseGuard.start()])
    },
    stop: async () => {
      await Promise.all([feed.stop(), abuseGuard.close(), refusals.close()])
    },
  }
}
