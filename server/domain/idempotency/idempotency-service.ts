import type { RequestContext } from '../caller.ts'
import type { Clock } from '../clock.ts'
import { DomainError } from '../errors.ts'
import { toUuid } from '../ids.ts'
import type { Log } from '../log.ts'
import type { LateCharge, LateMetering } from '../metering/metered-request.ts'
import type { RateGrant, RateLimiter, RatePlan } from '../rate-limits/rate-plan.ts'
import { within } from '../within.ts'
import type { BodyVault } from './body-vault.ts'
import { readBody } from './body-writer.ts'
import { fingerprintOf, parseIdempotencyKey } from './idempotency-key.ts'
import type {
  AnswerPrice,
  Claim,
  IdempotencyRecord,
  RecordId,
  StorageLimits,
  StoringRun,
} from './idempotency-record.ts'
import type { IdempotencyRepository } from './idempotency-repository.ts'
import { IdempotentRun } from './idempotent-run.ts'
import { RunningRequests } from './running-requests.ts'

/** Maximum time that a request waits for the database to record its key. */
const CLAIM_PATIENCE_MS = 5_000
const POLL_MS_MIN = 25
const POLL_MS_MAX = 1_000
const DELETED_AT_ONCE_MAX = 200

export interface IdempotentRequest {
  context: RequestContext
  key: string
  method: string
  path: string
  body: Buffer
}

export interface Replay {
  status: number
  headers: Record<string, string>
  bytes: number
  body: Buffer | AsyncGenerator<Buffer, void>
  /** The repeat's consumption of the original's rate window; null if the original had none. */
  grant: RateGrant | null
}

export type Begun = { kind: 'run'; run: IdempotentRun } | { kind: 'replay'; replay: Replay }

export interface IdempotencyServiceDeps {
  records: IdempotencyRepository
  metering: LateMetering
  rateLimiter: Pick<RateLimiter, 'admit'>
  vault: BodyVault
  clock: Clock
  /** Lease under which this process executes. */
  processId: string
  wait: (milliseconds: number) => Promise<void>
  /** How long a duplicate waits for the first request: as long as an upstream may take. */
  waitMsMax: number
  limits: StorageLimits
  log: Log
}

/**
 * Requests with an `Idempotency-Key`: executed and charged only once per account and key in 24 hours, even if a process
 * dies. A record is inserted before money is reserved, stores the response before the charge, and is done once the charge
 * is durable. If a process died, the next request with the key continues: without a stored response it executes again,
 * with one it only charges, under the same request id and day.
 */
export class IdempotencyService {
  readonly #deps: IdempotencyServiceDeps
  readonly #running = new RunningRequests()
  #unwritten: (() => Promise<void>)[] = []

  constructor(deps: IdempotencyServiceDeps) {
    this.#deps = deps
  }

  /**
   * Returns a run for the caller to execute and end with `finish` or `abandon`, or the response of an earlier one. Fails
   * with `invalid_request` (form of the key), `idempotency_mismatch`, `conflict` (the first request takes too long, or
   * its response was not stored) and, for a repeat, with the errors of its rate limit and of a charge that it completes.
   */
  async begin(request: IdempotentRequest): Promise<Begun> {
    const id = { accountId: request.context.caller.accountId, key: parseIdempotencyKey(request.key) }
    const fingerprint = await fingerprintOf(request)
    const lane = `${id.accountId}:${id.key}`
    let patience: AbortSignal | undefined
    for (;;) {
      const running = this.#running.find(lane)
      if (running === undefined) {
        const end = this.#running.begin(lane, fingerprint)
        return this.#lead(request.context, { ...this.#claim(id, request.context), fingerprint }, end)
      }
      assertSame(running.fingerprint, fingerprint)
      patience ??= AbortSignal.any([request.context.signal, AbortSignal.timeout(this.#deps.waitMsMax)])
      if ((await firstOf(running.ended, patience)) === 'aborted') {
        throw request.context.signal.aborted ? clientLeft() : takesTooLong()
      }
      const record = await this.#deps.records.find(id, this.#deps.clock.now())
      if (record?.state === 'done' && !record.expired) return this.#replay(request.context, record)
    }
  }

  /** Retries failed writes and deletes records older than 24 hours; returns how many. */
  async maintain(): Promise<number> {
    const writes = this.#unwritten.splice(0)
    await Promise.all(writes.map((write) => write().catch(() => this.#unwritten.push(write))))
    await this.#deps.records.releaseBytes(this.#deps.clock.now())
    let deleted = 0
    for (;;) {
      const count = await this.#deps.records.deleteExpired(this.#deps.clock.now(), DELETED_AT_ONCE_MAX)
      deleted += count
      if (count < DELETED_AT_ONCE_MAX) return deleted
    }
  }

  /** Runs as the only request in this process that works on the key. */
  async #lead(context: RequestContext, claim: Claim, end: () => void): Promise<Begun> {
    try {
      const found = await this.#claimOrFind(context, claim)
      if (found instanceof Date) return { kind: 'run', run: this.#run({ ...claim, expiresAt: found }, end) }
      const replay = await this.#replay(context, found)
      end()
      return replay
    } catch (error) {
      end()
      // The claim may exist although its result was lost; while this process lives, no other would take it over.
      const mayHaveClaimed = !(error instanceof DomainError) || error.code === 'unavailable'
      if (mayHaveClaimed) this.#unwritten.push(() => this.#deps.records.remove(claim))
      throw error
    }
  }

  /**
   * Returns the claim's expiry if this process must execute the request, otherwise a record with a response: this
   * process's to charge, or done.
   */
  async #claimOrFind(context: RequestContext, claim: Claim): Promise<IdempotencyRecord | Date> {
    const { records, clock, processId, wait, waitMsMax } = this.#deps
    let waitedMs = 0
    for (let pauseMs = POLL_MS_MIN; ; pauseMs = Math.min(2 * pauseMs, POLL_MS_MAX)) {
      const inserted = await within(CLAIM_PATIENCE_MS, records.insert(claim, clock.now()))
      if (inserted !== undefined) return inserted
      const seen = await within(CLAIM_PATIENCE_MS, records.find(claim, clock.now()))
      if (seen === undefined) continue
      if (!seen.expired) assertSame(seen.fingerprint, claim.fingerprint)
      if (!seen.expired && seen.state === 'done') return seen
      // This process leads the key, so an unfinished record of its own was abandoned.
      if (seen.expired || !seen.alive || seen.processId === processId) {
        const taken = await this.#takeUp(seen, claim)
        if (taken !== undefined) return taken
        continue
      }
      if (waitedMs >= waitMsMax) throw takesTooLong()
      await wait(pauseMs)
      waitedMs += pauseMs
      if (context.signal.aborted) throw clientLeft()
    }
  }

  /**
   * Takes over an expired or abandoned record: to execute it again, or only to charge it if its response is stored.
   * Undefined if another process was faster.
   */
  async #takeUp(seen: IdempotencyRecord, claim: Claim): Promise<IdempotencyRecord | Date | undefined> {
    const { records, clock, processId } = this.#deps
    if (seen.expired || seen.state !== 'answered') return records.takeOver(seen, claim, clock.now())
    return (await records.resume(seen, processId)) ? { ...seen, processId } : undefined
  }

  async #replay(context: RequestContext, record: IdempotencyRecord): Promise<Begun> {
    const { answer } = record
    if (answer === null || answer.body.kind === 'dropped') throw notStored()
    const { status, headers, price } = answer
    const grant = price === null ? null : await this.#admit(context, record, price)
    await this.#deps.records.countReplay(record)
    const body = readBody(record, answer.body, this.#deps)
    return { kind: 'replay', replay: { status, headers, bytes: answer.body.bytes, body, grant } }
  }

  /** Counts a repeat as a free request of the same kind, and completes a charge that the first request left open. */
  async #admit(context: RequestContext, record: IdempotencyRecord, price: AnswerPrice): Promise<RateGrant> {
    const { records, rateLimiter } = this.#deps
    const plan = planOfRepeat(price.ratePlan, context.caller.keyId)
    if (record.state === 'done') return rateLimiter.admit(plan)
    try {
      const grant = await rateLimiter.admit(plan)
      await this.#chargeLate({ context, requestId: record.requestId, grant, ...price }, record)
      return grant
    } catch (error) {
      await records.releaseClaim(record).catch(() => this.#unwritten.push(() => records.releaseClaim(record)))
      throw error
    }
  }

  async #chargeLate(charge: LateCharge, record: IdempotencyRecord): Promise<void> {
    const { records, metering } = this.#deps
    if (!(await records.isSettled(record, charge.admittedAt))) await metering.settleLate(charge)
    await records.finish(record, null)
  }

  #run(claim: StoringRun, ended: () => void): IdempotentRun {
    const { records, vault, log, limits } = this.#deps
    const later = (write: () => Promise<void>): void => void this.#unwritten.push(write)
    return new IdempotentRun(claim, { records, vault, limits, log, later, ended })
  }

  #claim(id: RecordId, { requestId }: RequestContext): Omit<Claim, 'fingerprint'> {
    return { ...id, requestId: toUuid(requestId), processId: this.#deps.processId }
  }
}

/** The first request's windows; its key's windows only if the repeat uses the same API key. */
function planOfRepeat({ keyWindows, ...plan }: RatePlan, keyId: string | null): RatePlan {
  const free = { tokens: null, credits: null }
  if (keyWindows === undefined) return { ...plan, ...free, apiKeyId: keyId }
  if (plan.apiKeyId !== keyId) return { ...plan, ...free, apiKeyId: keyId, scope: 'user' }
  return { ...plan, ...free, keyWindows: { ...free, requests: keyWindows.requests } }
}

async function firstOf(ended: Promise<void>, signal: AbortSignal): Promise<'ended' | 'aborted'> {
  const { promise, resolve } = Promise.withResolvers<'aborted'>()
  const abort = (): void => resolve('aborted')
  if (signal.aborted) return 'aborted'
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([ended.then(() => 'ended' as const), promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

function assertSame(first: Buffer, second: Buffer): void {
  if (first.equals(second)) return
  throw new DomainError(
    'idempotency_mismatch',
    'This Idempotency-Key was used in the last 24 hours for a request with another body or path; use a new key for a new request',
    { field: 'Idempotency-Key' },
  )
}

function takesTooLong(): DomainError {
  return new DomainError(
    'conflict',
    'The first request with this Idempotency-Key is still running; retry to get its response',
    { retryAfterSeconds: 1 },
  )
}

function notStored(): DomainError {
  return new DomainError(
    'conflict',
    'The response to this Idempotency-Key was sent and charged, but not stored: it was larger than one response may be, or the storage for responses was full. Use a new key to run the request again.',
  )
}

function clientLeft(): DomainError {
  return new DomainError('unavailable', 'The client closed the request before its response began')
}
