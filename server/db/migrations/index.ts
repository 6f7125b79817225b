import type { Migration } from 'kysely'
import * as accounts from './0010-accounts.ts'
import * as ledger from './0020-ledger.ts'
import * as usage from './0030-usage.ts'
import * as idempotency from './0040-idempotency.ts'
import * as rateLimits from './0050-rate-limits.ts'
import * as operators from './0060-operators.ts'
import * as wallets from './0070-wallets.ts'
import * as payments from './0080-payments.ts'
import * as functions from './0090-functions.ts'

/** Static and ordered by name; edited in place until the first release, and never after it. */
export const MIGRATIONS: Record<string, Migration> = {
  '0010-accounts': accounts,
  '0020-ledger': ledger,
  '0030-usage': usage,
  '0040-idempotency': idempotency,
  '0050-rate-limits': rateLimits,
  '0060-operators': operators,
  '0070-wallets': wallets,
  '0080-payments': payments,
  '0090-functions': functions,
}
