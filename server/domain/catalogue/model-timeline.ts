import type { Clock } from '../clock.ts'
import { byEffect, type CatalogueChange, CHANGEABLE_FIELDS, type ChangeableField } from './changes/catalogue-change.ts'
import type { ModelDefinition } from './model-definition.ts'
import { TokenPricing } from './token-pricing.ts'

export interface ModelInForce {
  model: ModelDefinition
  pricing: TokenPricing
  /** The change behind each setting; a setting without one comes from the configuration file. */
  sources: Readonly<Partial<Record<ChangeableField, CatalogueChange>>>
}

interface Period {
  fromMs: number
  /** Exclusive. */
  untilMs: number
  models: ReadonlyMap<string, ModelInForce>
}

/**
 * The models at any time: the configuration file with the operators' changes applied. The state between two changes is
 * computed only once, so reading it costs two comparisons.
 */
export class ModelTimeline {
  readonly #base: ReadonlyMap<string, ModelInForce>
  readonly #clock: Clock
  #changes: readonly CatalogueChange[] = []
  #period: Period | undefined

  constructor({ models, clock }: { models: readonly ModelDefinition[]; clock: Clock }) {
    this.#base = new Map(
      models.map((model) => [model.id, { model, pricing: new TokenPricing(model.pricing), sources: {} }]),
    )
    this.#clock = clock
  }

  /** Replaces the changes; withdrawn ones and those of unknown models are ignored. */
  follow(changes: readonly CatalogueChange[]): void {
    const known = changes.filter(({ modelId, withdrawal }) => withdrawal === null && this.#base.has(modelId))
    this.#changes = known.toSorted(byEffect)
    this.#period = undefined
  }

  /** Models by id, in configuration order. */
  models(): ReadonlyMap<string, ModelInForce> {
    const nowMs = this.#clock.nowMs()
    const period = this.#period
    if (period !== undefined && nowMs >= period.fromMs && nowMs < period.untilMs) return period.models
    const current = this.#periodAt(nowMs)
    this.#period = current
    return current.models
  }

  /** The models at a given time, by the changes known now. */
  modelsAt(atMs: number): ReadonlyMap<string, ModelInForce> {
    return this.#periodAt(atMs).models
  }

  configured(modelId: string): ModelDefinition | undefined {
    return this.#base.get(modelId)?.model
  }

  #periodAt(nowMs: number): Period {
    const instants = this.#changes.map(({ effectiveAt }) => effectiveAt.getTime())
    const models = new Map(this.#base)
    for (const change of this.#changes) {
      if (change.effectiveAt.getTime() > nowMs) break
      const before = models.get(change.modelId)
      const configured = this.configured(change.modelId)
      if (before !== undefined && configured !== undefined)
        models.set(change.modelId, apply(change, before, configured))
    }
    return {
      fromMs: Math.max(-Infinity, ...instants.filter((instant) => instant <= nowMs)),
      untilMs: Math.min(Infinity, ...instants.filter((instant) => instant > nowMs)),
      models,
    }
  }
}

function apply(change: CatalogueChange, before: ModelInForce, configured: ModelDefinition): ModelInForce {
  const sources = { ...before.sources }
  let model = before.model
  for (const field of CHANGEABLE_FIELDS) {
    const value = change.patch[field]
    if (value === undefined) continue
    model = { ...model, [field]: value ?? configured[field] }
    sources[field] = change
  }
  const pricing = model.pricing === before.model.pricing ? before.pricing : new TokenPricing(model.pricing)
  return { model, pricing, sources }
}
