import type { AccountsTable } from './tables/accounts-table.ts'
import type { ApiKeysTable } from './tables/api-keys-table.ts'
import type { BalancesTable } from './tables/balances-table.ts'
import type { CatalogueChangesTable } from './tables/catalogue-changes-table.ts'
import type { DiemStakesTable } from './tables/diem-stakes-table.ts'
import type { HoldsTable } from './tables/holds-table.ts'
import type { IdempotencyChunksTable } from './tables/idempotency-chunks-table.ts'
import type { IdempotencyRecordsTable } from './tables/idempotency-records-table.ts'
import type {
  IdempotencyStorageTable,
  IdempotencyTotalTable,
  IdempotencyWrittenTable,
} from './tables/idempotency-storage-table.ts'
import type { KeySpendTable } from './tables/key-spend-table.ts'
import type { LedgerTransfersTable } from './tables/ledger-transfers-table.ts'
import type { OperatorActionsTable } from './tables/operator-actions-table.ts'
import type { PaymentFeesTable } from './tables/payment-fees-table.ts'
import type { PaymentsTable } from './tables/payments-table.ts'
import type { ProcessesTable } from './tables/processes-table.ts'
import type { RateLimitRefusalsTable } from './tables/rate-limit-refusals-table.ts'
import type { RevokedWalletSessionsTable } from './tables/revoked-wallet-sessions-table.ts'
import type { SettlementFailuresTable } from './tables/settlement-failures-table.ts'
import type { SingleUseClaimsTable } from './tables/single-use-claims-table.ts'
import type { UsageClosingsTable } from './tables/usage-closings-table.ts'
import type { UsageDailyTable } from './tables/usage-daily-table.ts'
import type { UsageDailyTotalsTable } from './tables/usage-daily-totals-table.ts'
import type { UsageEventsTable } from './tables/usage-events-table.ts'
import type { UsageExpiredTable } from './tables/usage-expired-table.ts'
import type { UsageHourlyTable } from './tables/usage-hourly-table.ts'
import type { UsageHourlyTotalsTable } from './tables/usage-hourly-totals-table.ts'
import type { WalletLinksTable } from './tables/wallet-links-table.ts'
import type { WalletStakesTable } from './tables/wallet-stakes-table.ts'

export interface Database {
  accounts: AccountsTable
  api_keys: ApiKeysTable
  balances: BalancesTable
  catalogue_changes: CatalogueChangesTable
  diem_stakes: DiemStakesTable
  holds: HoldsTable
  idempotency_chunks: IdempotencyChunksTable
  idempotency_records: IdempotencyRecordsTable
  idempotency_storage: IdempotencyStorageTable
  idempotency_total: IdempotencyTotalTable
  idempotency_written: IdempotencyWrittenTable
  key_spend: KeySpendTable
  ledger_transfers: LedgerTransfersTable
  payment_fees: PaymentFeesTable
  payments: PaymentsTable
  settlement_failures: SettlementFailuresTable
  operator_actions: OperatorActionsTable
  processes: ProcessesTable
  rate_limit_refusals: RateLimitRefusalsTable
  revoked_wallet_sessions: RevokedWalletSessionsTable
  single_use_claims: SingleUseClaimsTable
  usage_closings: UsageClosingsTable
  usage_daily: UsageDailyTable
  usage_daily_totals: UsageDailyTotalsTable
  usage_events: UsageEventsTable
  usage_expired: UsageExpiredTable
  usage_hourly: UsageHourlyTable
  usage_hourly_totals: UsageHourlyTotalsTable
  wallet_links: WalletLinksTable
  wallet_stakes: WalletStakesTable
}
