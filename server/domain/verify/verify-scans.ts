import { accountScan } from './account-scan-repository.ts'
import { eventScan } from './event-scan-repository.ts'
import { ledgerScan } from './ledger-scan-repository.ts'
import { paymentScan } from './payment-scan-repository.ts'
import { rollUpScan } from './roll-up-scan-repository.ts'
import type { VerifyScan } from './verify-scan.ts'

export const VERIFY_SCANS: readonly VerifyScan[] = [accountScan, ledgerScan, eventScan, rollUpScan, paymentScan]
