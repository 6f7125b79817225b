import type { Migration } from 'kysely/migration'
import * as accountsAndMoney from './20261121-0100-accounts-and-money.ts'
import * as admitHolds from './20261121-0110-admit-holds.ts'
import * as settleHolds from './20261121-0120-settle-holds.ts'
import * as exchangeHolds from './20261121-0140-exchange-holds.ts'
import * as idempotency from './20261121-0200-idempotency.ts'

/** Static and ordered by name; a merged migration is never edited. */
export const MIGRATIONS: Record<string, Migration> = {
  '20261121-0100-accounts-and-money': accountsAndMoney,
  '20261121-0110-admit-holds': admitHolds,
  '20261121-0120-settle-holds': settleHolds,
  '20261121-0140-exchange-holds': exchangeHolds,
  '20261121-0200-idempotency': idempotency,
}
