import { IdempotencyRepository } from '../domain/idempotency/idempotency-repository.ts'
import type { AccountChanges } from '../domain/ledger/account-changes.ts'
import { RequestFeed } from '../domain/requests/request-feed.ts'
import { RequestRepository } from '../domain/requests/request-repository.ts'
import { RequestService } from '../domain/requests/request-service.ts'
import type { Infrastructure } from './infrastructure.ts'

export type RequestParts = Pick<Infrastructure, 'reports' | 'clock' | 'log'> & { accountChanges: AccountChanges }

/** The request log and the feed of finished requests. */
export function createRequests({ reports, clock, log, accountChanges: changes }: RequestParts) {
  const requests = new RequestRepository(reports)
  const feed = new RequestFeed({ changes, requests, clock, log })
  const service = new RequestService({ requests, keys: new IdempotencyRepository(reports), feed, clock })
  return { service, feed }
}
