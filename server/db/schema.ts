import type { AccountsTable } from './tables/accounts-table.ts'
import type { ApiKeysTable } from './tables/api-keys-table.ts'
import type { BalancesTable } from './tables/balances-table.ts'
import type { HoldsTable } from './tables/holds-table.ts'
import type { IdempotencyChunksTable } from './tables/idempotency-chunks-table.ts'
import type { IdempotencyRecordsTable } from './tables/idempotency-records-table.ts'
import type { KeySpendTable } from './tables/key-spend-table.ts'
import type { LedgerTransfersTable } from './tables/ledger-transfers-table.ts'
import type { ProcessesTable } from './tables/processes-table.ts'
import type { UsageDailyTable } from './tables/usage-daily-table.ts'
import type { UsageEventsTable } from './tables/usage-events-table.ts'

export interface Database {
  accounts: AccountsTable
  api_keys: ApiKeysTable
  balances: BalancesTable
  holds: HoldsTable
  idempotency_chunks: IdempotencyChunksTable
  idempotency_records: IdempotencyRecordsTable
  key_spend: KeySpendTable
  ledger_transfers: LedgerTransfersTable
  processes: ProcessesTable
  usage_daily: UsageDailyTable
  usage_events: UsageEventsTable
}
