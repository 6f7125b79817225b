import { z } from 'zod'
import type { Clock } from '../clock.ts'
import { invalidField } from '../validation/parse-input.ts'
import { isSliceTimeout, type ReadSnapshot, type SnapshotRepository } from './snapshot-repository.ts'
import { type CheckId, isCheckId, toVerification, type Verification, type Violation } from './verification.ts'
import { FIRST_ID, VerifyPosition, type VerifyScan, type VerifyStep } from './verify-scan.ts'

/** Target duration of a slice; after a longer one, the next is smaller. */
const SLICE_MS = 500
const SLICE_ROWS = { first: 5_000, min: 500, max: 50_000 }

/** Consecutive timeouts of one slice, each with fewer rows, after which verification fails. */
const FAILURES_MAX = 20

/** The position of an interrupted verification, and the checks found broken. */
const Cursor = z.strictObject({
  scan: z.string(),
  position: VerifyPosition,
  broken: z.array(z.string().refine(isCheckId)).max(100),
})
type Cursor = z.output<typeof Cursor>

export interface VerifyProgress {
  violations: Violation[]
  /** Continues the verification after this slice; null at the end. */
  cursor: string | null
  scan: string | null
  /** The state of all checks; a check that the cursor marks as broken stays broken. */
  verification: Verification
}

export interface VerifierDeps {
  snapshots: SnapshotRepository
  scans: readonly VerifyScan[]
  clock: Clock
  sliceRows?: { first: number; min: number; max: number }
}

/**
 * Checks the invariants of the money path slice by slice. Each slice is one short snapshot in which its accounts are
 * consistent, so concurrent traffic never looks like a violation and no snapshot keeps old row versions for long.
 */
export class Verifier {
  readonly #deps: VerifierDeps
  readonly #sliceRows: typeof SLICE_ROWS
  #rows: number

  constructor(deps: VerifierDeps) {
    this.#deps = deps
    this.#sliceRows = deps.sliceRows ?? SLICE_ROWS
    this.#rows = this.#sliceRows.first
  }

  async verify(): Promise<Verification> {
    const violations: Violation[] = []
    for (let cursor = this.#first(); cursor !== null; ) {
      const step = await this.#step(cursor)
      violations.push(...step.violations)
      cursor = this.#behind(cursor, step)
    }
    return toVerification(violations)
  }

  /** Checks slices for about `budgetMs`, from the start or from a cursor. */
  async verifyPart(text: string | null, budgetMs: number): Promise<VerifyProgress> {
    const untilMs = this.#deps.clock.nowMs() + budgetMs
    const first = text === null ? this.#first() : this.#parse(text)
    const violations: Violation[] = []
    let cursor: Cursor | null = first
    while (cursor !== null && this.#deps.clock.nowMs() < untilMs) {
      const step = await this.#step(cursor)
      violations.push(...step.violations)
      cursor = this.#behind(cursor, step)
    }
    return {
      violations,
      cursor: cursor && Buffer.from(JSON.stringify(cursor)).toString('base64url'),
      scan: cursor && cursor.scan,
      verification: toVerification(violations, first?.broken),
    }
  }

  #first(): Cursor | null {
    const [scan] = this.#deps.scans
    return scan === undefined ? null : { scan: scan.name, position: { after: FIRST_ID }, broken: [] }
  }

  #parse(text: string): Cursor {
    try {
      const cursor = Cursor.parse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')))
      if (this.#deps.scans.some(({ name }) => name === cursor.scan)) return cursor
    } catch {
      // Every error is reported below.
    }
    throw invalidField('cursor', 'is not a cursor of verify; pass the cursor that verify returned, or omit it')
  }

  #behind({ scan, broken }: Cursor, { violations, next }: VerifyStep): Cursor | null {
    const all: CheckId[] = [...new Set([...broken.filter(isCheckId), ...violations.map(({ id }) => id)])]
    if (next !== null) return { scan, position: next, broken: all }
    const { scans } = this.#deps
    const following = scans[scans.findIndex(({ name }) => name === scan) + 1]
    return following === undefined ? null : { scan: following.name, position: { after: FIRST_ID }, broken: all }
  }

  async #step({ scan: name, position }: Cursor): Promise<VerifyStep> {
    const { scans, clock } = this.#deps
    const scan = scans.find((one) => one.name === name)
    if (scan === undefined) throw new Error('a cursor names a scan')
    const { min, max } = this.#sliceRows
    for (let failures = 0; ; failures++) {
      const rows = this.#rows
      const slowest = { ms: 1 }
      try {
        const step = await scan.step(this.#timed(rows === min, slowest), { position, rows, now: clock.now() })
        const fitting = Math.round((rows * SLICE_MS) / slowest.ms)
        this.#rows = Math.max(min, Math.min(fitting, rows * 2, max))
        return step
      } catch (error) {
        if (!isSliceTimeout(error) || failures === FAILURES_MAX) throw error
        this.#rows = Math.max(min, Math.round(rows / 4))
      }
    }
  }

  /** Reads snapshots and records the slowest duration. */
  #timed(unlimited: boolean, slowest: { ms: number }): ReadSnapshot {
    const { snapshots, clock } = this.#deps
    const read = snapshots.reader({ unlimited })
    return async (work) => {
      const beganMs = clock.nowMs()
      const result = await read(work)
      slowest.ms = Math.max(slowest.ms, clock.nowMs() - beganMs)
      return result
    }
  }
}
