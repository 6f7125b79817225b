import type { RequestContext } from '../caller.ts'
import { DomainError } from '../errors.ts'
import { itemAt } from '../item-at.ts'
import type { LedgerService } from '../ledger/ledger-service.ts'
import { admissionError } from '../metering/admission-error.ts'
import type { Journaled } from '../metering/answer-journal.ts'
import type { UsageOutcome } from '../metering/hold.ts'
import type { MeteredRequest } from '../metering/metered-request.ts'
import type { MeteredRun, RunCharge } from '../metering/metered-run.ts'
import type { MeteredRuns, RunPlan } from '../metering/metered-runs.ts'
import { type Currency, formatUsd } from '../money.ts'
import type { RateLimiter } from '../rate-limits/rate-plan.ts'
import type { RatePlans } from '../rate-limits/rate-plans.ts'
import { RPC_SKU_PREFIX } from '../usage/reports/usage.ts'
import {
  BATCH_ANSWER_BYTES_MAX,
  joinParts,
  noAnswers,
  type PartOutcome,
  readPartAnswer,
  sendParts,
  splitBatch,
} from './batch-call.ts'
import { type CallPlan, planCalls } from './call-plan.ts'
import { type Envelope, scanEnvelope } from './envelope-scanner.ts'
import type { MethodTable } from './method-table.ts'
import type { RpcNetwork } from './networks.ts'
import type { NodeRouter, RoutedAnswer } from './node-router.ts'
import type { RpcBodyReader } from './rpc-body-reader.ts'
import { costUsdOf, linesByMethod, RPC_ERROR_CREDITS } from './rpc-pricing.ts'
import { type PricedMethod, priceMethods, quotePlan, type RpcQuote } from './rpc-quote.ts'
import { relayStream } from './single-answer.ts'
import type { SingleSender } from './single-sender.ts'

const PARALLEL_PARTS_MAX = 8

export interface RpcServiceDeps {
  runs: MeteredRuns
  ratePlans: Pick<RatePlans, 'planForRpc'>
  rateLimiter: Pick<RateLimiter, 'admit' | 'refund'>
  ledger: Pick<LedgerService, 'balances'>
  bodies: RpcBodyReader
  networks: ReadonlyMap<string, RpcNetwork>
  methods: MethodTable
  nodes: NodeRouter
  singles: SingleSender
  pricePerCreditNanoUsd: bigint
}

export interface RpcResponse {
  /** 204 if only notifications were sent and the node returned nothing. */
  status: 200 | 204
  credits: number
  /** 8 decimals. */
  costUsd: string
  /** Number of nodes that failed before one responded. */
  retries: number
  metered: MeteredRequest
  /** JSON. A buffer is already charged; an iterable charges before its last bytes and must be read or returned. */
  body: Buffer | AsyncGenerator<Uint8Array, void>
}

interface Admitted {
  plan: CallPlan
  run: MeteredRun<RpcResponse>
  context: Journaled<RpcResponse>
}

/**
 * The JSON-RPC proxy: bodies and responses pass byte for byte, and each call costs `baseCredits × tier`, or 5 credits if
 * the response is an error object. The full price is reserved before a node is called, and a response completes only
 * after its charge is durable.
 */
export class RpcService {
  readonly #deps: RpcServiceDeps
  /** As shown on receipts. */
  readonly #unitPriceUsd: string

  constructor(deps: RpcServiceDeps) {
    this.#deps = deps
    this.#unitPriceUsd = formatUsd(deps.pricePerCreditNanoUsd)
  }

  /** The networks that can be called, sorted by slug. */
  networks(): RpcNetwork[] {
    return [...this.#deps.networks.values()].toSorted((a, b) => (a.slug < b.slug ? -1 : 1))
  }

  /** The methods that a network serves, by name, with their prices there. */
  pricedMethods(network: RpcNetwork): PricedMethod[] {
    return priceMethods(network, this.#deps.methods, this.#deps.pricePerCreditNanoUsd)
  }

  /** The price of a body, validated as in `call`; fails with `invalid_json` and `invalid_request`. */
  quote(slug: string, body: Buffer): RpcQuote {
    const network = this.#network(slug)
    const plan = planCalls({ body, envelope: scanEnvelope(body) }, network, this.#deps.methods)
    return quotePlan(plan, this.#deps.pricePerCreditNanoUsd)
  }

  /**
   * Runs one request or one batch. Fails with `invalid_json` and `invalid_request` (nothing was executed), with the
   * errors of an admission (`rate_limited`, `insufficient_balance`, `key_limit_usd`, `key_limit_diem`), and with
   * `rpc_upstream_failed` or `unavailable` if no node responded; none of these is charged. With a journal in the context,
   * each response is stored before it is charged.
   */
  async call(context: Journaled<RpcResponse>, slug: string, body: Buffer): Promise<RpcResponse> {
    const { bodies, methods, ratePlans, runs, pricePerCreditNanoUsd } = this.#deps
    const network = this.#network(slug)
    const envelope = bodies.isLarge(body) ? await this.#scanLarge(context, network, body) : scanEnvelope(body)
    const plan = planCalls({ body, envelope }, network, methods)
    const sku = RPC_SKU_PREFIX + network.slug
    const runPlan: RunPlan = {
      soldAs: { sku, modelName: sku, modelType: null, unitType: 'credits' },
      ratePlan: ratePlans.planForRpc(context.caller, plan.credits),
      holdNanoUsd: BigInt(plan.credits) * pricePerCreditNanoUsd,
    }
    return runs.run(context, runPlan, (run) => {
      const admitted = { plan, run, context }
      return plan.batch ? this.#callBatch(admitted) : this.#callSingle(admitted)
    })
  }

  /**
   * Scanning a large body takes time, so it is done only for a caller that is within its limits and has a balance. The
   * request counts against the rate limit meanwhile, and still counts if the body is malformed.
   */
  async #scanLarge({ caller }: RequestContext, network: RpcNetwork, body: Buffer): Promise<Envelope> {
    const { bodies, rateLimiter, ratePlans } = this.#deps
    const place = await rateLimiter.admit(ratePlans.planForRpc(caller, 0))
    try {
      await this.#assertBalance(caller.accountId, network)
    } catch (error) {
      rateLimiter.refund(place)
      throw error
    }
    const envelope = await bodies.scanEnvelope(body)
    rateLimiter.refund(place)
    return envelope
  }

  async #assertBalance(accountId: string, { baseCredits }: RpcNetwork): Promise<void> {
    const { ledger, pricePerCreditNanoUsd } = this.#deps
    if (pricePerCreditNanoUsd === 0n) return
    const balances = await ledger.balances(accountId)
    if (balances.some(({ balanceNanoUsd, heldNanoUsd }) => balanceNanoUsd > heldNanoUsd)) return
    const nanoOf = (name: Currency): bigint => balances.find(({ currency }) => currency === name)?.balanceNanoUsd ?? 0n
    const found = { outcome: 'insufficient_balance', usdNano: nanoOf('usd'), diemNano: nanoOf('diem') } as const
    throw admissionError(found, BigInt(baseCredits) * pricePerCreditNanoUsd)
  }

  async #callSingle({ plan, run, context }: Admitted): Promise<RpcResponse> {
    const call = itemAt(plan.calls, 0)
    const { value, nodeId, retries } = await this.#deps.singles.send({ plan, call, signal: context.signal })
    run.servedBy({ upstreamId: nodeId, retries })
    const failed = value.shape !== 'empty' && value.kind === 'error'
    const credits = failed ? RPC_ERROR_CREDITS : call.credits
    const charge = this.#charge(plan, { credits: [credits], outcome: failed ? 'rpc_error' : 'completed' })
    if (value.shape === 'stream') {
      const body = relayStream(value, {
        signal: context.signal,
        keep: (bytes) => context.journal?.piece(bytes),
        settle: async (end) => void (await (end === 'answered' ? run.settle(charge, response) : cutOff())),
        release: () => run.release(),
      })
      // The client disconnected mid-response: it pays the announced price, unless its key guarantees a complete response for
      // the price.
      const cutOff = () =>
        context.journal === undefined ? run.settle({ ...charge, outcome: 'client_disconnected' }) : run.release()
      const response = this.#response({ credits, retries, metered: run.metered }, body)
      return response
    }
    const bytes = value.shape === 'empty' ? Buffer.alloc(0) : value.bytes
    const response = this.#response({ credits, retries, metered: run.metered }, bytes)
    await run.settle(charge, response)
    return response
  }

  async #callBatch({ plan, run, context }: Admitted): Promise<RpcResponse> {
    const { bodies, nodes } = this.#deps
    const network = plan.network.slug
    const write = plan.calls.some(({ method }) => method.write)
    const budget = { bytes: BATCH_ANSWER_BYTES_MAX }
    const parts = splitBatch(plan, nodes.batchItemsMax(network))
    const results = await sendParts(parts, {
      parallel: write ? 1 : PARALLEL_PARTS_MAX,
      send: (part) =>
        nodes.send({ network, body: part.bytes, write, signal: context.signal }, (answer) =>
          readPartAnswer(answer, { part, body: plan.body, budget, bodies }),
        ),
    })
    const { nodeId } = firstAnswered(results, context.signal)
    const retries = results.reduce((sum, result) => sum + (result.status === 'fulfilled' ? result.value.retries : 1), 0)
    run.servedBy({ upstreamId: nodeId, retries })
    const outcomes = results.map((result, index): PartOutcome => {
      if (result.status === 'fulfilled') return result.value.value
      const part = parts[index]
      return part === undefined ? { outcomes: [], verbatim: null } : noAnswers(part, plan.body)
    })
    const calls = outcomes.flatMap((part) => part.outcomes)
    const credits = calls.map((call) => call.credits)
    const outcome = calls.every((call) => call.failed) ? 'rpc_error' : 'completed'
    const total = credits.reduce((sum, price) => sum + price, 0)
    const response = this.#response({ credits: total, retries, metered: run.metered }, joinParts(outcomes))
    await run.settle(this.#charge(plan, { credits, outcome }), response)
    return response
  }

  #network(slug: string): RpcNetwork {
    const network = this.#deps.networks.get(slug)
    if (network !== undefined) return network
    const slugs = this.networks().map((known) => known.slug)
    const message = `Unsupported RPC network; supported networks: ${slugs.join(', ')}`
    throw new DomainError('invalid_request', message, { field: 'network' })
  }

  #charge(plan: CallPlan, { credits, outcome }: { credits: readonly number[]; outcome: UsageOutcome }): RunCharge {
    const lines = linesByMethod(plan.calls, credits, {
      pricePerCreditNanoUsd: this.#deps.pricePerCreditNanoUsd,
      unitPriceUsd: this.#unitPriceUsd,
    })
    return { lines, outcome, estimated: false, used: { credits: credits.reduce((sum, price) => sum + price, 0) } }
  }

  #response(
    { credits, retries, metered }: { credits: number; retries: number; metered: MeteredRequest },
    body: RpcResponse['body'],
  ): RpcResponse {
    const status = Buffer.isBuffer(body) && body.length === 0 ? 204 : 200
    const costUsd = costUsdOf(credits, this.#deps.pricePerCreditNanoUsd)
    return { status, credits, costUsd, retries, metered, body }
  }
}

/** A batch with at least one response continues; otherwise the first failure is thrown. */
function firstAnswered(
  results: readonly PromiseSettledResult<RoutedAnswer<PartOutcome>>[],
  signal: AbortSignal,
): RoutedAnswer<PartOutcome> {
  signal.throwIfAborted()
  const answered = results.find((result) => result.status === 'fulfilled')
  if (answered !== undefined) return answered.value
  const failed = results.find((result) => result.status === 'rejected')
  throw failed?.reason
}
