import type { Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import type { RatePlan } from '../rate-limits/rate-plan.ts'
import type { Journaled } from './answer-journal.ts'
import type { Metering } from './metered-request.ts'
import { MeteredRun, type SoldAs } from './metered-run.ts'

/** What must be known of a request before it runs. */
export interface RunPlan {
  soldAs: SoldAs
  ratePlan: RatePlan
  /** Worst-case price of the request. */
  holdNanoUsd: bigint
}

export interface MeteredRunsDeps {
  metering: Metering
  clock: Clock
  log: Log
}

/**
 * The way of every billed request, whatever it buys (docs/money.md): admit, call the upstream, then charge or release. A
 * product brings its plan, what it does in between, and its price.
 */
export class MeteredRuns {
  readonly #deps: MeteredRunsDeps

  constructor(deps: MeteredRunsDeps) {
    this.#deps = deps
  }

  /** Admits a request that ends later than this call, such as a stream. Fails as `Metering.open`. */
  async open<Response>(context: Journaled<Response>, plan: RunPlan): Promise<MeteredRun<Response>> {
    const { metering, clock, log } = this.#deps
    const { soldAs, ratePlan, holdNanoUsd } = plan
    const startedAtMs = clock.nowMs()
    const metered = await metering.open({ context, plan: ratePlan, holdNanoUsd })
    return new MeteredRun({ metered, context, soldAs, startedAtMs, clock, log })
  }

  /** Admits a request, and releases it if `work`, which settles it, fails. Fails as `Metering.open` and as `work`. */
  async run<Response, Result extends Response>(
    context: Journaled<Response>,
    plan: RunPlan,
    work: (run: MeteredRun<Response>) => Promise<Result>,
  ): Promise<Result> {
    const run = await this.open(context, plan)
    try {
      return await work(run)
    } catch (error) {
      throw await run.fail(error)
    }
  }
}
