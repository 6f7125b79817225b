import { z } from 'zod'
import type { ReadSnapshot } from './snapshot-repository.ts'
import type { Violation } from './verification.ts'

export const FIRST_ID = '00000000-0000-0000-0000-000000000000'
export const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
/** Stands for usage without a key in roll-up tables. */
export const NO_KEY = '00000000-0000-0000-0000-000000000000'

/** Position of a scan: after the account `after`, or within an account that is too large for one slice. */
export const VerifyPosition = z.strictObject({
  after: z.guid(),
  /** The scan's position within an account, or its current partition. */
  within: z.record(z.string().max(64), z.string().max(128)).optional(),
})
export type VerifyPosition = z.output<typeof VerifyPosition>

/** The accounts after `after`, up to and including `until`. */
export interface AccountRange {
  after: string
  until: string
}

export interface VerifyStep {
  violations: Violation[]
  /** Null at the end of the scan. */
  next: VerifyPosition | null
}

export interface StepOptions {
  position: VerifyPosition
  /** Approximate number of rows that a snapshot may read. */
  rows: number
  now: Date
}

/** Reads part of the database slice by slice, in the order of account ids; each slice is consistent in itself. */
export interface VerifyScan {
  name: string
  step(read: ReadSnapshot, options: StepOptions): Promise<VerifyStep>
}
