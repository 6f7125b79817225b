import { IdempotencyRepository } from '../domain/idempotency/idempotency-repository.ts'
import type { AccountChanges } from '../domain/ledger/account-changes.ts'
import { RequestFeed } from '../domain/requests/request-feed.ts'
import { RequestRepository } from '../domain/requests/request-repository.ts'
import { RequestService } from '../domain/requests/request-service.ts'
import type { Infrastructure } from './infrastructure.ts'

export type RequestParts = Pick<Infrastructure, 'db' | 'clock' | 'log'> & { accountChanges: AccountChanges }

/** The log of requests and the feed of those that end. */
export function createRequests({ db, clock, log, accountChanges: changes }: RequestParts) {
  const requests = new RequestRepository(db)
  const feed = new RequestFeed({ changes, requests, clock, log })
  const service = new RequestService({ requests, keys: new IdempotencyRepository(db), feed, clock })
  return { service, feed }
}
