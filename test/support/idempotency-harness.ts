import { type Kysely, sql } from 'kysely'
import { proxyRpcRoute } from '../../rest-facade/rpc/proxy-rpc.ts'
import { IdempotencySection } from '../../server/config/file/idempotency.ts'
import type { Database } from '../../server/db/schema.ts'
import { BodyReader } from '../../server/domain/bodies/body-reader.ts'
import type { KeyCaller } from '../../server/domain/caller.ts'
import type { Clock } from '../../server/domain/clock.ts'
import { BodyVault } from '../../server/domain/idempotency/body-vault.ts'
import type { StorageLimits } from '../../server/domain/idempotency/idempotency-record.ts'
import { IdempotencyRepository } from '../../server/domain/idempotency/idempotency-repository.ts'
import { IdempotencyService } from '../../server/domain/idempotency/idempotency-service.ts'
import { createIdSource } from '../../server/domain/ids.ts'
import type { Metering } from '../../server/domain/metering/metered-request.ts'
import { MeteredRuns } from '../../server/domain/metering/metered-runs.ts'
import { LimitTable } from '../../server/domain/rate-limits/limit-table.ts'
import { RatePlans } from '../../server/domain/rate-limits/rate-plans.ts'
import { MethodTable } from '../../server/domain/rpc/method-table.ts'
import { createNetworkTable } from '../../server/domain/rpc/networks.ts'
import { NodeRouter } from '../../server/domain/rpc/node-router.ts'
import { RpcService } from '../../server/domain/rpc/rpc-service.ts'
import { NodeSender } from '../../server/domain/rpc/single-sender.ts'
import { createCircuitBreaker } from '../../server/upstream/inference/circuit-breaker.ts'
import { createRpcNodes } from '../../server/upstream/rpc/rpc-node-client.ts'
import { createMoneyHarness } from './money-harness.ts'
import { createRecordingLog } from './recording-log.ts'
import { startRestHarness } from './rest-harness.ts'

/** Between any two of them a process may die. */
export const STEPS = ['claimed', 'admitted', 'called', 'answered', 'settled'] as const
export type Step = (typeof STEPS)[number]

export interface ProcessOptions {
  db: Kysely<Database>
  clock: Clock
  nodeUrl: string
  /** Right after this step the process stands still until it is resumed, if ever. */
  stopAfter?: Step
  /** The first such write fails as when the database is away; that of a claim or an answer only after it was done. */
  failOnce?: 'insert' | 'answered' | 'finish' | 'remove'
  waitMsMax?: number
  limits?: Partial<StorageLimits>
}

/** One server process with the JSON-RPC route, idempotency and the money path on a shared database. */
export async function startIdempotentProcess(caller: KeyCaller, options: ProcessOptions) {
  const { db, clock, nodeUrl, waitMsMax = 10_000, limits } = options
  const money = createMoneyHarness(db, clock)
  const log = createRecordingLog()
  const halt = createHalt(options.stopAfter)
  const nodes = createRpcNodes({ 'ethereum-mainnet': { upstreams: [{ url: nodeUrl }] } })
  const router = new NodeRouter({ nodes, createBreaker: createCircuitBreaker, clock, log })
  const ratePlans = new RatePlans(LimitTable.parse({}))
  const rpc = new RpcService({
    runs: new MeteredRuns({ metering: haltingMetering(money.metering, halt.pass), clock, log }),
    ratePlans,
    rateLimiter: money.rateLimiter,
    ledger: money.ledger,
    bodies: new BodyReader(),
    networks: createNetworkTable('robinhood'),
    methods: new MethodTable(),
    nodes: router,
    singles: new NodeSender(router),
    pricePerCreditNanoUsd: 625n,
  })
  const idempotency = new IdempotencyService({
    records: new HaltingRecords(db, halt.pass, options.failOnce),
    metering: money.metering,
    rateLimiter: money.rateLimiter,
    vault: new BodyVault('pepper'),
    clock,
    processId: money.processId,
    wait: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
    waitMsMax,
    limits: { ...IdempotencySection.parse(undefined), ...limits },
    log,
  })
  const services = {
    rpc: { proxy: rpc },
    idempotency,
    money: { ledger: money.ledger },
    limits: { ratePlans },
    ids: createIdSource(clock),
    clock,
    log,
  }
  const rest = await startRestHarness([proxyRpcRoute], { caller, ...services })
  const url = `${rest.baseUrl}/crypto/rpc/ethereum-mainnet`
  await money.holds.heartbeat(money.processId)
  // It lives until it is said to have died, however slow the test is.
  const heartbeat_at = sql<Date>`now() + interval '1 hour'`
  await db.updateTable('processes').set({ heartbeat_at }).where('process_id', '=', money.processId).execute()
  return {
    money,
    idempotency,
    log,
    reached: halt.reached,
    resume: halt.resume,
    url,
    post: (key: string, body: string): Promise<Response> =>
      fetch(url, {
        method: 'POST',
        body,
        headers: { authorization: 'Bearer key', 'idempotency-key': key },
      }),
    /** Its lease is gone, as 30 s after its last heartbeat. */
    die: () => db.deleteFrom('processes').where('process_id', '=', money.processId).execute(),
    async [Symbol.asyncDispose]() {
      await rest[Symbol.asyncDispose]()
      await Promise.all([...nodes.values()].flat().map((node) => node.close()))
    },
  }
}

export type IdempotentProcess = Awaited<ReturnType<typeof startIdempotentProcess>>

type Pass = (step: Step) => Promise<void>

function createHalt(stopAfter: Step | undefined): { pass: Pass; reached: Promise<void>; resume: () => void } {
  const reached = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const pass = async (step: Step): Promise<void> => {
    if (step !== stopAfter) return
    reached.resolve()
    await gate.promise
  }
  return { pass, reached: reached.promise, resume: gate.resolve }
}

class HaltingRecords extends IdempotencyRepository {
  readonly #pass: Pass
  #failing: ProcessOptions['failOnce']

  constructor(db: Kysely<Database>, pass: Pass, failing: ProcessOptions['failOnce']) {
    super(db)
    this.#pass = pass
    this.#failing = failing
  }

  override async finish(...args: Parameters<IdempotencyRepository['finish']>): Promise<void> {
    this.#failOnce('finish')
    await super.finish(...args)
  }

  override async remove(...args: Parameters<IdempotencyRepository['remove']>): Promise<void> {
    this.#failOnce('remove')
    await super.remove(...args)
  }

  #failOnce(write: ProcessOptions['failOnce']): void {
    if (this.#failing !== write) return
    this.#failing = undefined
    throw new Error('the database is away')
  }

  override async insert(...args: Parameters<IdempotencyRepository['insert']>): Promise<Date | undefined> {
    const inserted = await super.insert(...args)
    this.#failOnce('insert')
    await this.#pass('claimed')
    return inserted
  }

  override async answered(...args: Parameters<IdempotencyRepository['answered']>): Promise<boolean> {
    await this.#pass('called')
    const kept = await super.answered(...args)
    this.#failOnce('answered')
    await this.#pass('answered')
    return kept
  }
}

function haltingMetering(metering: Metering, pass: Pass): Metering {
  return {
    async open(request) {
      const metered = await metering.open(request)
      await pass('admitted')
      return {
        hold: metered.hold,
        grant: metered.grant,
        get receipt() {
          return metered.receipt
        },
        extend: (byNanoUsd) => metered.extend(byNanoUsd),
        release: () => metered.release(),
        async settle(...args) {
          const receipt = await metered.settle(...args)
          await pass('settled')
          return receipt
        },
      }
    },
  }
}
