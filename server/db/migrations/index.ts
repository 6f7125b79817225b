import type { Migration } from 'kysely/migration'
import * as accountsAndMoney from './20261121-0100-accounts-and-money.ts'
import * as admitHolds from './20261121-0110-admit-holds.ts'
import * as settleHolds from './20261121-0120-settle-holds.ts'
import * as exchangeHolds from './20261121-0140-exchange-holds.ts'
import * as idempotency from './20261121-0200-idempotency.ts'
import * as limits from './20261121-0300-limits.ts'
import * as usageRollups from './20261121-0310-usage-rollups.ts'
import * as requestLog from './20261121-0320-request-log.ts'
import * as operatorActions from './20261121-0330-operator-actions.ts'
import * as catalogueChanges from './20261121-0331-catalogue-changes.ts'
import * as accountsByAge from './20261121-0340-accounts-by-age.ts'
import * as walletLinks from './20261121-0345-wallet-links.ts'
import * as payments from './20261121-0350-payments.ts'
import * as paymentIdempotency from './20261121-0351-payment-idempotency.ts'

/** Static and ordered by name; a merged migration is never edited. */
export const MIGRATIONS: Record<string, Migration> = {
  '20261121-0100-accounts-and-money': accountsAndMoney,
  '20261121-0110-admit-holds': admitHolds,
  '20261121-0120-settle-holds': settleHolds,
  '20261121-0140-exchange-holds': exchangeHolds,
  '20261121-0200-idempotency': idempotency,
  '20261121-0300-limits': limits,
  '20261121-0310-usage-rollups': usageRollups,
  '20261121-0320-request-log': requestLog,
  '20261121-0330-operator-actions': operatorActions,
  '20261121-0331-catalogue-changes': catalogueChanges,
  '20261121-0340-accounts-by-age': accountsByAge,
  '20261121-0345-wallet-links': walletLinks,
  '20261121-0350-payments': payments,
  '20261121-0351-payment-idempotency': paymentIdempotency,
}
