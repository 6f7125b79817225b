import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { IdempotencyRecordRow } from '../../db/tables/idempotency-records-table.ts'
import { utcDay } from '../clock.ts'
import type { Usage } from '../metering/hold.ts'
import { STALE_SECONDS } from '../metering/hold-sweeper.ts'
import type {
  AnswerPrice,
  Claim,
  IdempotencyRecord,
  KeptAnswer,
  KeptBody,
  RecordId,
  RequestKey,
  RunId,
  StorageLimits,
  StoringRun,
} from './idempotency-record.ts'

const NO_ANSWER = {
  status: null,
  headers: null,
  charge: null,
  body: null,
  body_bytes: null,
  chunk_count: null,
  replays: 0,
} as const

const KEPT_HOURS = 24

/**
 * Records of executions. Each method is one statement, and every change applies only while the run still owns its record.
 * The database's clock decides when a record expires; `at`, the process's own time, is used only by test databases.
 */
export class IdempotencyRepository {
  readonly #db: Kysely<Database>
  readonly #jobs: Kysely<Database>

  constructor(db: Kysely<Database>, jobs = db) {
    this.#db = db
    this.#jobs = jobs
  }

  /** Returns the new record's expiry; undefined if the key already has a record. */
  async insert(claim: Claim, at: Date): Promise<Date | undefined> {
    const row = await this.#db
      .insertInto('idempotency_records')
      .values({ account_id: claim.accountId, key: claim.key, ...claimColumns(claim, at), ...NO_ANSWER })
      .onConflict((conflict) => conflict.columns(['account_id', 'key']).doNothing())
      .returning('expires_at')
      .executeTakeFirst()
    return row?.expires_at
  }

  async find({ accountId, key }: RecordId, at: Date): Promise<IdempotencyRecord | undefined> {
    const row = await this.#db
      .selectFrom('idempotency_records as r')
      .selectAll('r')
      .select(
        sql<boolean>`exists (select 1 from processes p where p.process_id = r.process_id
          and p.heartbeat_at > now() - make_interval(secs => ${STALE_SECONDS}))`.as('alive'),
      )
      .select(sql<boolean>`r.expires_at <= ${instantAt(at)}`.as('expired'))
      .where('account_id', '=', accountId)
      .where('key', '=', key)
      .executeTakeFirst()
    return row === undefined ? undefined : { ...toRecord(row), alive: row.alive, expired: row.expired }
  }

  /**
   * Replaces an execution that ended or was abandoned; returns the new expiry, or undefined if another process was
   * faster.
   */
  async takeOver(seen: IdempotencyRecord, claim: Claim, at: Date): Promise<Date | undefined> {
    const row = await this.#updateOf(seen, { state: seen.state })
      .set({ ...claimColumns(claim, at), ...NO_ANSWER })
      .returning('expires_at')
      .executeTakeFirst()
    if (row !== undefined) await this.#deleteChunks(seen)
    return row?.expires_at
  }

  /** Assigns an answered execution to this process; false if another process was faster. */
  resume(seen: IdempotencyRecord, processId: string): Promise<boolean> {
    return this.#update(seen, { state: 'answered' }, { process_id: processId })
  }

  /** Stores the response; false if another process took the record over, or if an inline body exceeds the quota. */
  answered(
    run: StoringRun,
    answer: KeptAnswer,
    { state, limits }: { state: 'answered' | 'done'; limits: StorageLimits },
  ): Promise<boolean> {
    const columns = {
      state,
      status: answer.status,
      headers: JSON.stringify(answer.headers),
      charge: answer.price === null ? null : priceToJson(answer.price),
      ...bodyColumns(answer.body),
    }
    const { body } = answer
    const condition = body.kind === 'inline' ? { condition: hasRoom(run, [body.sealed], limits) } : {}
    return this.#update(run, { state: 'in_progress', ...condition }, columns)
  }

  /** `body` is set if it grew after the response was stored; white space does not count against the quota. */
  async finish(run: RunId, body: KeptBody | null): Promise<void> {
    await this.#update(run, { state: 'answered' }, { state: 'done', ...(body === null ? {} : bodyColumns(body)) })
  }

  /** Whether the run's usage is stored, which proves that its charge is durable. */
  async isSettled({ accountId, requestId }: RunId, admittedAt: Date): Promise<boolean> {
    const row = await this.#db
      .selectFrom('usage_events')
      .select('request_id')
      .where('account_id', '=', accountId)
      .where('day', '=', utcDay(admittedAt))
      .where('request_id', '=', requestId)
      .executeTakeFirst()
    return row !== undefined
  }

  async releaseClaim(run: RunId): Promise<void> {
    await this.#update(run, { state: 'answered' }, { process_id: null })
  }

  async countReplay({ accountId, key, requestId }: RunId): Promise<void> {
    await this.#db
      .updateTable('idempotency_records')
      .set(({ eb }) => ({ replays: eb('replays', '+', 1) }))
      .where('account_id', '=', accountId)
      .where('key', '=', key)
      .where('request_id', '=', requestId)
      .execute()
  }

  /** The stored idempotency keys of requests, by request; ids as in the database. */
  async findByRequests(accountId: string, requestIds: readonly string[]): Promise<Map<string, RequestKey>> {
    const rows = await this.#db
      .selectFrom('idempotency_records')
      .select(['request_id', 'key', 'replays', 'expires_at'])
      .where('account_id', '=', accountId)
      .where('request_id', 'in', requestIds)
      .execute()
    return new Map(
      rows.map((row) => [row.request_id, { key: row.key, replays: row.replays, keptUntil: row.expires_at }]),
    )
  }

  async remove(run: RunId): Promise<void> {
    await this.#db
      .deleteFrom('idempotency_records')
      .where('account_id', '=', run.accountId)
      .where('key', '=', run.key)
      .where('request_id', '=', run.requestId)
      .where('process_id', '=', run.processId)
      .where('state', '=', 'in_progress')
      .execute()
  }

  /** Stores consecutive chunks, the first at `position`; returns false and stores none if they exceed the quota. */
  async addChunks(
    run: StoringRun,
    { position, chunks, limits }: { position: number; chunks: readonly Buffer[]; limits: StorageLimits },
  ): Promise<boolean> {
    const rows = chunks.map((content, index) => sql`(${position + index}::integer, ${content}::bytea)`)
    const { numAffectedRows } = await sql`
      insert into idempotency_chunks (account_id, key, request_id, position, content)
      select ${run.accountId}, ${run.key}, ${run.requestId}, c.position, c.content
      from (values ${sql.join(rows)}) as c (position, content)
      where ${hasRoom(run, chunks, limits)}`.execute(this.#db)
    return numAffectedRows === BigInt(chunks.length)
  }

  async readChunk({ accountId, key, requestId }: RunId, position: number): Promise<Uint8Array | undefined> {
    const row = await this.#db
      .selectFrom('idempotency_chunks')
      .select('content')
      .where('account_id', '=', accountId)
      .where('key', '=', key)
      .where('request_id', '=', requestId)
      .where('position', '=', position)
      .executeTakeFirst()
    return row?.content
  }

  removeChunks(run: RunId): Promise<void> {
    return this.#deleteChunks(run)
  }

  /** Deletes up to `limit` expired records; returns how many. */
  async deleteExpired(at: Date, limit: number): Promise<number> {
    const { numDeletedRows } = await this.#jobs
      .deleteFrom('idempotency_records')
      .where(({ eb, refTuple }) =>
        eb(
          refTuple('account_id', 'key'),
          'in',
          eb
            .selectFrom('idempotency_records')
            .select(['account_id', 'key'])
            .where('expires_at', '<=', instantAt(at))
            .orderBy('expires_at')
            .limit(limit)
            .$asTuple('account_id', 'key'),
        ),
      )
      .executeTakeFirst()
    return Number(numDeletedRows)
  }

  async releaseBytes(at: Date): Promise<void> {
    await sql`select release_idempotency_bytes(${instantAt(at)})`.execute(this.#db)
  }

  async #update(
    run: RunId,
    expected: ExpectedRecord,
    columns: Partial<Omit<IdempotencyRecordRow, 'headers' | 'charge'>> & {
      headers?: string | null
      charge?: string | null
    },
  ): Promise<boolean> {
    const { numUpdatedRows } = await this.#updateOf(run, expected).set(columns).executeTakeFirst()
    return numUpdatedRows === 1n
  }

  #updateOf(run: RunId, { state, condition = sql<boolean>`true` }: ExpectedRecord) {
    return this.#db
      .updateTable('idempotency_records')
      .where('account_id', '=', run.accountId)
      .where('key', '=', run.key)
      .where('request_id', '=', run.requestId)
      .where('process_id', 'is not distinct from', run.processId)
      .where('state', '=', state)
      .where(condition)
  }

  async #deleteChunks({ accountId, key, requestId }: RunId): Promise<void> {
    await this.#db
      .deleteFrom('idempotency_chunks')
      .where('account_id', '=', accountId)
      .where('key', '=', key)
      .where('request_id', '=', requestId)
      .execute()
  }
}

interface ExpectedRecord {
  state: IdempotencyRecordRow['state']
  condition?: RawBuilder<boolean>
}

/** Takes the bytes from the quota; as a scalar subquery it is evaluated only once per statement. */
function hasRoom(
  { accountId, expiresAt }: StoringRun,
  contents: readonly Uint8Array[],
  { maxAccountBytes, maxTotalBytes }: StorageLimits,
): RawBuilder<boolean> {
  const bytes = contents.reduce((sum, content) => sum + content.length, 0)
  return sql<boolean>`(select reserve_idempotency_bytes(
    ${accountId}::uuid, ${expiresAt}::timestamptz, ${bytes}::bigint, ${maxAccountBytes}::bigint, ${maxTotalBytes}::bigint))`
}

function instantAt(at: Date): RawBuilder<Date> {
  return sql<Date>`ledger_instant(${at}::timestamptz)`
}

function claimColumns(claim: Claim, at: Date) {
  return {
    fingerprint: claim.fingerprint,
    state: 'in_progress',
    process_id: claim.processId,
    request_id: claim.requestId,
    created_at: instantAt(at),
    expires_at: sql<Date>`${instantAt(at)} + make_interval(hours => ${KEPT_HOURS})`,
  } as const
}

function bodyColumns(body: KeptBody) {
  return {
    body: body.kind === 'inline' ? Buffer.from(body.sealed) : null,
    body_bytes: BigInt(body.bytes),
    chunk_count: body.kind === 'chunks' ? body.count : null,
  }
}

function toRecord(row: IdempotencyRecordRow): Omit<IdempotencyRecord, 'alive' | 'expired'> {
  return {
    accountId: row.account_id,
    key: row.key,
    requestId: row.request_id,
    processId: row.process_id,
    fingerprint: Buffer.from(row.fingerprint),
    state: row.state,
    answer: row.status === null ? null : toAnswer(row, row.status),
  }
}

function toAnswer(row: IdempotencyRecordRow, status: number): KeptAnswer {
  const bytes = Number(row.body_bytes ?? 0n)
  return {
    status,
    headers: row.headers as Record<string, string>,
    price: row.charge === null ? null : priceFromJson(row.charge as PriceJson),
    body:
      row.body !== null
        ? { kind: 'inline', sealed: row.body, bytes }
        : row.chunk_count !== null
          ? { kind: 'chunks', count: row.chunk_count, bytes }
          : { kind: 'dropped', bytes },
  }
}

/** The column's form: JSON has no 64-bit integers and no dates. */
type PriceJson = Omit<AnswerPrice, 'usage' | 'maxNanoUsd' | 'admittedAt'> & {
  usage: Omit<Usage, 'lines'> & { lines: { type: string; units: number; amountNanoUsd: string }[] }
  maxNanoUsd: string
  admittedAt: string
}

function priceToJson({ usage, maxNanoUsd, admittedAt, ratePlan }: AnswerPrice): string {
  const lines = usage.lines.map((line) => ({ ...line, amountNanoUsd: line.amountNanoUsd.toString() }))
  const json: PriceJson = {
    usage: { ...usage, lines },
    maxNanoUsd: maxNanoUsd.toString(),
    admittedAt: admittedAt.toISOString(),
    ratePlan,
  }
  return JSON.stringify(json)
}

function priceFromJson({ usage, maxNanoUsd, admittedAt, ratePlan }: PriceJson): AnswerPrice {
  const lines = usage.lines.map((line) => ({ ...line, amountNanoUsd: BigInt(line.amountNanoUsd) }))
  return { usage: { ...usage, lines }, maxNanoUsd: BigInt(maxNanoUsd), admittedAt: new Date(admittedAt), ratePlan }
}
