import type { Clock } from '../clock.ts'
import type { ProviderHealth, ProviderRouter } from '../inference/providers/provider-router.ts'
import type { Log } from '../log.ts'
import type { PaymentOperations } from '../payments/payment-operations.ts'
import type { NodeInspector, NodeReport } from '../rpc/node-inspector.ts'
import type { NodeHealth, NodeRouter } from '../rpc/node-router.ts'
import { checkDatabase, checkHolds, checkOperatorActions, checkPartitions } from './database-checks.ts'
import { failed, ok, type PlatformCheck, warning } from './platform-check.ts'
import type { PlatformRepository, ServerProcess } from './platform-repository.ts'

const PEPPER_CHARACTERS_RECOMMENDED = 32

export interface PlatformHealth {
  /** Everything that requests depend on is available. */
  ok: boolean
  version: string
  database: { ok: boolean; latencyMs: number | null; version: string | null }
  /** Null without a configured Redis; limits and messages then stay in this process. */
  sharedStore: { ok: boolean } | null
  processes: ServerProcess[]
  providers: ProviderHealth[]
  nodes: NodeHealth[]
}

export interface Diagnosis {
  /** No check failed, and no node serves the wrong chain. */
  ok: boolean
  checks: PlatformCheck[]
  nodes: NodeReport[]
}

export interface PlatformServiceDeps {
  repository: PlatformRepository
  providers: Pick<ProviderRouter, 'health'>
  nodes: Pick<NodeRouter, 'health'>
  inspector: Pick<NodeInspector, 'inspect'>
  payments: Pick<PaymentOperations, 'inspect'>
  clock: Clock
  log: Log
  version: string
  sharedStore: { configured: boolean; isDegraded: () => boolean }
  keyPepperCharacters: number
}

/**
 * The health of this process and its dependencies, for an operator. Providers and nodes are reported as this process
 * observed them.
 */
export class PlatformService {
  readonly #deps: PlatformServiceDeps

  constructor(deps: PlatformServiceDeps) {
    this.#deps = deps
  }

  /** A quick check that queries only the database. Never fails: an unavailable part is reported as such. */
  async health(): Promise<PlatformHealth> {
    const { clock, nodes, providers, repository, sharedStore, version } = this.#deps
    const startedMs = clock.nowMs()
    const found = await this.#tolerate(async () => {
      const facts = await repository.databaseFacts()
      const latencyMs = clock.nowMs() - startedMs
      return { version: facts.version, latencyMs, processes: await repository.processes() }
    })
    const store = sharedStore.configured ? { ok: !sharedStore.isDegraded() } : null
    return {
      ok: found !== undefined && store?.ok !== false,
      version,
      database: { ok: found !== undefined, latencyMs: found?.latencyMs ?? null, version: found?.version ?? null },
      sharedStore: store,
      processes: found?.processes ?? [],
      providers: providers.health(),
      nodes: nodes.health(),
    }
  }

  /** Checks everything, including the configured nodes; with `publicNodes` also those that chains publish. */
  async diagnose(options: { publicNodes: boolean }): Promise<Diagnosis> {
    const [nodes, ...checks] = await Promise.all([
      this.#deps.inspector.inspect(options),
      this.#checkWith('database', checkDatabase),
      this.#checkWith('usage_partitions', checkPartitions),
      this.#checkWith('abandoned_holds', checkHolds),
      this.#checkWith('operator_actions', checkOperatorActions),
      this.#checkPayments(),
    ])
    const all = [...checks.flat(), this.#checkStore(), this.#checkPepper()]
    const serve = nodes.every(({ status }) => status !== 'mismatch')
    return { ok: serve && all.every(({ status }) => status !== 'failed'), checks: all, nodes }
  }

  async #checkWith(
    id: string,
    check: (repository: PlatformRepository, clock: Clock) => Promise<PlatformCheck[]>,
  ): Promise<PlatformCheck[]> {
    const { clock, repository } = this.#deps
    return (
      (await this.#tolerate(() => check(repository, clock))) ?? [
        failed(id, 'the database did not respond; see the log'),
      ]
    )
  }

  async #checkPayments(): Promise<PlatformCheck[]> {
    const networks = await this.#deps.payments.inspect()
    return networks.flatMap(({ network, problems }) =>
      problems.length === 0
        ? ok('payments', `${network}: payments can be settled`)
        : problems.map((problem) => failed('payments', `${network}: ${problem}`)),
    )
  }

  async #tolerate<T>(ask: () => Promise<T>): Promise<T | undefined> {
    try {
      return await ask()
    } catch (error) {
      this.#deps.log.warn('the database did not respond to a platform check', { error })
      return undefined
    }
  }

  #checkStore(): PlatformCheck {
    const { configured, isDegraded } = this.#deps.sharedStore
    if (!configured) return ok('shared_store', 'Redis is not configured: limits and live events stay in the process')
    if (!isDegraded()) return ok('shared_store', 'Redis answers')
    return warning('shared_store', 'Redis does not respond, so each process limits on its own: check REDIS_URL')
  }

  #checkPepper(): PlatformCheck {
    const characters = this.#deps.keyPepperCharacters
    if (characters >= PEPPER_CHARACTERS_RECOMMENDED) return ok('key_pepper', 'it is set and long enough')
    return warning(
      'key_pepper',
      `it has ${characters} characters; ${PEPPER_CHARACTERS_RECOMMENDED} are recommended, but a new pepper invalidates every key`,
    )
  }
}
