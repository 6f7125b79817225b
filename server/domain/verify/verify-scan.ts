import { z } from 'zod'
import type { Snapshot } from './snapshot-repository.ts'
import type { Violation } from './verification.ts'

export const FIRST_ID = '00000000-0000-0000-0000-000000000000'
export const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
/** Usage without a key, in tables that sum it up. */
export const NO_KEY = '00000000-0000-0000-0000-000000000000'

/** Where a scan continues: behind the account `after`, or within an account that is too large for one slice. */
export const VerifyPosition = z.strictObject({
  after: z.guid(),
  /** The scan's own place within an account, or the partition that it reads. */
  within: z.record(z.string().max(64), z.string().max(128)).optional(),
})
export type VerifyPosition = z.output<typeof VerifyPosition>

/** Rows of the accounts behind `after` up to `until`. */
export interface AccountRange {
  after: string
  until: string
}

export interface VerifyStep {
  violations: Violation[]
  /** Null: the scan has reached its end. */
  next: VerifyPosition | null
}

export interface StepOptions {
  position: VerifyPosition
  /** About how many rows a snapshot may read. */
  rows: number
  now: Date
}

/** Runs work in one short read-only snapshot. */
export type ReadSnapshot = <Result>(work: (snapshot: Snapshot) => Promise<Result>) => Promise<Result>

/** Reads a part of the database slice by slice, in the order of the accounts' ids; each slice is consistent in itself. */
export interface VerifyScan {
  name: string
  step(read: ReadSnapshot, options: StepOptions): Promise<VerifyStep>
}
