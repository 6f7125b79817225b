import type { ModelPrivacy } from '../caller.ts'
import type { Clock } from '../clock.ts'
import { DomainError } from '../errors.ts'
import { MODEL_TYPES, type ModelDefinition, type ModelType } from './model-definition.ts'
import { type DeprecationNotice, deprecationNotice, isRetired } from './model-deprecation.ts'
import { normalizeModelName, readModelName, suggestModelName, withoutServicePrefix } from './model-name.ts'
import { isModelAllowed } from './model-privacy.ts'
import { splitModelSuffix } from './model-suffix.ts'
import { ModelTimeline } from './model-timeline.ts'
import type { TokenPricing } from './token-pricing.ts'

/** How soon clients should retry a model that an operator took offline. */
const OFFLINE_RETRY_SECONDS = 60

/** Filters of `GET /models`: a type, all types, or text models optimized for code. */
export type ModelFilter = ModelType | 'all' | 'code'

/** Per type: model names of other services, and our model for each. */
export type CompatibilityMapping = Partial<Record<ModelType, Record<string, string>>>

export interface ResolvedModel {
  model: ModelDefinition
  pricing: TokenPricing
  /** The deprecation of the requested model, even if a replacement was resolved. */
  deprecation: DeprecationNotice | undefined
}

interface CatalogueDeps {
  models: readonly ModelDefinition[]
  compatibility: CompatibilityMapping
  serviceName: string
  clock: Clock
}

/**
 * The models for sale. Resolves a name as exact id, then trait, then compatibility mapping; then all three again,
 * ignoring dots, underscores, spaces, case and a `<service>-` prefix.
 */
export class Catalogue {
  readonly timeline: ModelTimeline
  readonly #compatibility: CompatibilityMapping
  readonly #serviceName: string
  readonly #clock: Clock
  /** Model ids by normalized name; changing a model never changes its names. */
  readonly #looseNames: ReadonlyMap<ModelType, ReadonlyMap<string, string>>
  /** Used as `created` for models without a stated age. */
  readonly loadedAt: Date

  constructor({ models, compatibility, serviceName, clock }: CatalogueDeps) {
    this.timeline = new ModelTimeline({ models, clock })
    this.#compatibility = compatibility
    this.#serviceName = serviceName
    this.#clock = clock
    this.loadedAt = clock.now()
    this.#looseNames = new Map(MODEL_TYPES.map((type) => [type, this.#indexLooseNames(type)]))
  }

  /** Models that a key with this privacy setting may use, in catalogue order, without retired ones. */
  list({ type, privacy }: { type: ModelFilter; privacy: ModelPrivacy }): ModelDefinition[] {
    return [...this.#served()].filter((model) => {
      if (!isModelAllowed(privacy, model)) return false
      if (type === 'all') return true
      if (type === 'code') return model.type === 'text' && model.capabilities.optimizedForCode
      return model.type === type
    })
  }

  find(id: string): ModelDefinition | undefined {
    return this.timeline.models().get(id)?.model
  }

  /**
   * Finds a model of any type by id, trait or mapped name. Fails with `model_not_found`, also for models that the key's
   * privacy setting hides; for a retired model the message names the replacement.
   */
  get(name: string, privacy: ModelPrivacy): ModelDefinition {
    const named = this.find(name) ?? this.#matchAnyType(name)
    const isVisible = named !== undefined && isModelAllowed(privacy, named)
    const model = isVisible ? this.#current(named) : undefined
    if (model === undefined || !isModelAllowed(privacy, model)) {
      throw new DomainError(
        'model_not_found',
        `Specified model not found: ${name.slice(0, 200)}. GET /models lists all models.`,
      )
    }
    return model
  }

  /** Trait names of a type, and the model for each. */
  traits(type: ModelType, privacy: ModelPrivacy): Record<string, string> {
    const traits: Record<string, string> = {}
    for (const model of this.list({ type, privacy })) {
      for (const trait of model.traits) traits[trait] ??= model.id
    }
    return traits
  }

  /** Names of other services for a type, and the model for each. */
  compatibility(type: ModelType, privacy: ModelPrivacy): Record<string, string> {
    const ids = new Set(this.list({ type, privacy }).map((model) => model.id))
    const entries = Object.entries(this.#compatibility[type] ?? {})
    return Object.fromEntries(entries.filter(([, id]) => ids.has(id)))
  }

  /**
   * Resolves the model of a request. Fails with `invalid_request` (missing or not a string), `model_not_found` (unknown,
   * of another type or retired; the message suggests an alternative) or `unavailable` (offline).
   */
  resolve(name: unknown, type: ModelType): ResolvedModel {
    const wanted = readModelName(name)
    const named = this.#match(wanted, type)
    if (named === undefined) throw this.#unknown(wanted, type)
    const deprecation = deprecationNotice(named, this.#clock.nowMs())
    const model = this.#current(named)
    const pricing = this.timeline.models().get(model.id)?.pricing
    if (pricing === undefined) throw this.#unknown(wanted, type)
    if (model.offline) {
      throw new DomainError('unavailable', `The model ${model.id} is offline. Choose another model.`, {
        field: 'model',
        publicCode: 'MODEL_OFFLINE',
        retryAfterSeconds: OFFLINE_RETRY_SECONDS,
      })
    }
    return { model, pricing, deprecation }
  }

  /** Finds the model of a request even if it is offline; undefined if no model of the type has that name. */
  findNamed(name: unknown, type: ModelType): ModelDefinition | undefined {
    if (typeof name !== 'string') return undefined
    const named = this.#match(splitModelSuffix(name, (id) => this.find(id) !== undefined).name, type)
    if (named === undefined || !isRetired(named, this.#clock.nowMs())) return named
    return named.deprecation?.autoRemap === true ? this.#replacementOf(named) : undefined
  }

  *#served(): Iterable<ModelDefinition> {
    const nowMs = this.#clock.nowMs()
    for (const { model } of this.timeline.models().values()) if (!isRetired(model, nowMs)) yield model
  }

  #match(name: string, type: ModelType): ModelDefinition | undefined {
    const short = withoutServicePrefix(name, this.#serviceName)
    const names = short === undefined ? [name] : [name, short]
    for (const candidate of names) {
      const model = this.#matchExactly(candidate, type)
      if (model !== undefined) return model
    }
    const loose = this.#looseNames.get(type)
    for (const candidate of names) {
      const id = loose?.get(normalizeModelName(candidate))
      if (id !== undefined) return this.find(id)
    }
    return undefined
  }

  /** Prefers text models, because several types can have a trait such as `default`. */
  #matchAnyType(name: string): ModelDefinition | undefined {
    for (const type of MODEL_TYPES) {
      const model = this.#match(name, type)
      if (model !== undefined) return model
    }
    return undefined
  }

  #matchExactly(name: string, type: ModelType): ModelDefinition | undefined {
    const exact = this.find(name)
    if (exact !== undefined && exact.type === type) return exact
    for (const model of this.#served()) if (model.type === type && model.traits.includes(name)) return model
    const mapping = this.#compatibility[type] ?? {}
    const mapped = Object.hasOwn(mapping, name) ? mapping[name] : undefined
    const model = mapped === undefined ? undefined : this.find(mapped)
    return model?.type === type ? model : undefined
  }

  /** Ids take precedence over traits, traits over mapped names, as for exact names. */
  #indexLooseNames(type: ModelType): Map<string, string> {
    const names = new Map<string, string>()
    const add = (name: string, id: string): void => {
      const model = this.find(id)
      const key = normalizeModelName(name)
      if (model?.type === type && !names.has(key)) names.set(key, id)
    }
    for (const id of this.timeline.models().keys()) add(id, id)
    for (const [trait, id] of Object.entries(this.traits(type, 'ALL'))) add(trait, id)
    for (const [alias, id] of Object.entries(this.#compatibility[type] ?? {})) add(alias, id)
    return names
  }

  /** Returns the model, or its replacement if it is no longer served. */
  #current(model: ModelDefinition): ModelDefinition {
    if (!isRetired(model, this.#clock.nowMs())) return model
    const replacement = this.#replacementOf(model)
    if (replacement !== undefined && model.deprecation?.autoRemap === true) return replacement
    const fix = replacement === undefined ? 'GET /models lists the available models' : `use ${replacement.id} instead`
    throw new DomainError('model_not_found', `Specified model not found: ${model.id} was retired; ${fix}.`, {
      field: 'model',
      ...(replacement === undefined ? {} : { facts: { replacementModelId: replacement.id } }),
    })
  }

  /** Returns the replacement of a retired model if the replacement is served. */
  #replacementOf({ type, deprecation }: ModelDefinition): ModelDefinition | undefined {
    const id = deprecation?.replacementModelId
    const replacement = id === undefined ? undefined : this.find(id)
    const isUsable = replacement?.type === type && !isRetired(replacement, this.#clock.nowMs())
    return isUsable ? replacement : undefined
  }

  #unknown(name: string, type: ModelType): DomainError {
    const shown = name.slice(0, 200)
    const other = this.find(name)
    if (other !== undefined && other.type !== type) {
      const message = `Specified model not found: ${shown} has the type ${other.type}, but this endpoint requires ${type}.`
      return new DomainError('model_not_found', message, { field: 'model' })
    }
    const ids = this.list({ type, privacy: 'ALL' }).map((model) => model.id)
    const known = [...ids, ...Object.keys(this.#compatibility[type] ?? {})]
    const suggestion = suggestModelName(name, known)
    const hint = suggestion === undefined ? '' : `; did you mean ${suggestion}?`
    return new DomainError(
      'model_not_found',
      `Specified model not found: ${shown}${hint || '.'} GET /models lists all models.`,
      {
        field: 'model',
        ...(suggestion === undefined ? {} : { facts: { suggestedModel: suggestion } }),
      },
    )
  }
}
