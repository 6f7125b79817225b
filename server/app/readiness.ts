import { pingDatabase } from '../db/database.ts'
import type { ReadinessCheck } from './health.ts'
import type { Infrastructure } from './infrastructure.ts'

/** What has to answer before this process should get traffic; without Redis it serves on, limiting by itself. */
export function readinessChecks({ db, isStoreDegraded }: Infrastructure): ReadinessCheck[] {
  return [
    { name: 'database', required: true, check: () => pingDatabase(db) },
    {
      name: 'sharedLimits',
      required: false,
      check: () => (isStoreDegraded() ? Promise.reject(new Error('degraded')) : Promise.resolve()),
    },
  ]
}
