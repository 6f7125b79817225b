import { z } from 'zod'
import type { Clock } from '../../clock.ts'
import { DomainError } from '../../errors.ts'
import type { IdSource } from '../../ids.ts'
import { decodeCursor, type Page, toPage } from '../../page.ts'
import type { PubSub } from '../../pub-sub.ts'
import { invalidField } from '../../validation/parse-input.ts'
import type { ModelPricing } from '../model-definition.ts'
import { isRetired } from '../model-deprecation.ts'
import type { ModelInForce, ModelTimeline } from '../model-timeline.ts'
import { type CatalogueChange, CHANGEABLE_FIELDS, type JudgedChange, type ModelPatch } from './catalogue-change.ts'
import type { CatalogueChangeRepository } from './catalogue-change-repository.ts'
import { type ListChangesInput, type WithdrawChangeInput, YEARS_AHEAD_MAX } from './inputs.ts'
import { changePrices } from './price-change.ts'

const CHANNEL = 'catalogue-changed'
const CURSOR_SCOPE = { list: 'catalogue-changes', accountId: 'platform' }

/** A change requested by an operator; without `effectiveAt` it takes effect immediately. */
export interface ChangeRequest {
  modelId: string
  patch: ModelPatch
  effectiveAt: Date | undefined
  reason: string
  actor: string
}

/** A change of prices; `free` confirms that a text model's output may cost nothing. */
export interface PriceChangeRequest extends Omit<ChangeRequest, 'patch'> {
  pricing: ModelPricing | null
  free: boolean
}

export interface CatalogueServiceDeps {
  changes: CatalogueChangeRepository
  timeline: ModelTimeline
  pubSub: PubSub
  clock: Clock
  ids: IdSource
}

/**
 * Changes of the catalogue at run time, with their history. The configuration file is the base; a change takes effect at
 * its effective time. Every process learns of a change by message, or by `refresh` if the message is lost, and switches
 * by its own clock. A request keeps the price at its admission.
 */
export class CatalogueService {
  readonly #deps: CatalogueServiceDeps
  #version = ''
  #reading: Promise<void> = Promise.resolve()
  #unsubscribe: (() => Promise<void>) | undefined

  constructor(deps: CatalogueServiceDeps) {
    this.#deps = deps
  }

  /** Must complete before requests are served: until then, the file's prices are in effect. */
  async start(): Promise<void> {
    this.#unsubscribe = await this.#deps.pubSub.subscribe(CHANNEL, () => void this.#read().catch(() => {}))
    await this.#read()
  }

  async close(): Promise<void> {
    await this.#unsubscribe?.()
  }

  /** Reads the changes if there are new ones; cheap enough to call every second. */
  async refresh(): Promise<void> {
    if ((await this.#deps.changes.version()) !== this.#version) await this.#read()
  }

  list(): ModelInForce[] {
    return [...this.#deps.timeline.models().values()]
  }

  /** The model with the changes in effect now. Fails with `model_not_found`. */
  get(modelId: string): ModelInForce {
    const found = this.#deps.timeline.models().get(modelId)
    if (found !== undefined) return found
    const message = `The configuration file has no model ${modelId.slice(0, 200)}; \`model list\` shows its models`
    throw new DomainError('model_not_found', message, { field: 'modelId' })
  }

  /**
   * Adds a change. Fails with `model_not_found`; and with `invalid_request` if it would begin in the past or too far
   * ahead, or if its replacement is not a served model of the same type.
   */
  async change({ modelId, patch, effectiveAt, reason, actor }: ChangeRequest): Promise<JudgedChange> {
    const { changes, clock, ids } = this.#deps
    const { model } = this.get(modelId)
    const now = clock.now()
    this.#checkReplacement(model, patch)
    const change: CatalogueChange = {
      id: ids.uuid(),
      modelId,
      patch,
      effectiveAt: checkInstant(effectiveAt, now),
      actor,
      reason,
      createdAt: now,
      withdrawal: null,
    }
    await changes.insert(change)
    await this.#announce()
    return this.#judge(change)
  }

  /** Applies `changePrices` to the prices in effect at that time. Fails like `changePrices` and `change`. */
  changePrices({ pricing, free, ...request }: PriceChangeRequest): Promise<JudgedChange> {
    const { timeline, clock } = this.#deps
    const { model: current } = this.get(request.modelId)
    const atMs = request.effectiveAt?.getTime() ?? clock.nowMs()
    const model = timeline.modelsAt(atMs).get(request.modelId)?.model ?? current
    const configured = timeline.configured(request.modelId)?.pricing ?? {}
    const patch = { pricing: changePrices({ model, configured, given: pricing, free }) }
    return this.change({ ...request, patch })
  }

  /** Withdraws a change that is not yet in effect. Fails with `not_found`, or with `conflict` if it is too late. */
  async withdraw({ changeId, reason }: WithdrawChangeInput, actor: string): Promise<JudgedChange> {
    const { changes, clock } = this.#deps
    const withdrawn = await changes.withdraw(changeId, { at: clock.now(), actor, reason })
    if (withdrawn !== undefined) {
      await this.#announce()
      return this.#judge(withdrawn)
    }
    const found = await changes.find(changeId)
    if (found === undefined) throw new DomainError('not_found', `The catalogue change ${changeId} does not exist`)
    const why =
      found.withdrawal === null
        ? `took effect at ${found.effectiveAt.toISOString()}; make another change instead`
        : 'was already withdrawn'
    throw new DomainError('conflict', `The catalogue change ${changeId} ${why}`)
  }

  /** Past, present and future changes, newest first. Fails with `invalid_request` on a cursor of another list. */
  async history({ modelId, first, after }: ListChangesInput): Promise<Page<JudgedChange>> {
    const [beforeId] = after == null ? [] : decodeCursor(CURSOR_SCOPE, z.tuple([z.uuid()]), after)
    const rows = await this.#deps.changes.list({ modelId, limit: first + 1, beforeId })
    return toPage(
      rows.map((change) => this.#judge(change)),
      first,
      { scope: CURSOR_SCOPE, keyOf: (change) => [change.id] },
    )
  }

  #judge(change: CatalogueChange): JudgedChange {
    if (change.withdrawal !== null) return { ...change, status: 'withdrawn' }
    if (change.effectiveAt.getTime() > this.#deps.clock.nowMs()) return { ...change, status: 'scheduled' }
    const sources = this.#deps.timeline.models().get(change.modelId)?.sources ?? {}
    const inForce = CHANGEABLE_FIELDS.some((field) => sources[field]?.id === change.id)
    return { ...change, status: inForce ? 'in_force' : 'replaced' }
  }

  #checkReplacement(model: ModelInForce['model'], { deprecation }: ModelPatch): void {
    const replacementId = deprecation?.replacementModelId
    if (replacementId === undefined) return
    const replacement = this.#deps.timeline.models().get(replacementId)?.model
    const usable =
      replacement !== undefined &&
      replacement.id !== model.id &&
      replacement.type === model.type &&
      !isRetired(replacement, this.#deps.clock.nowMs())
    if (usable) return
    const message = `must be another available model of the type ${model.type}; ${replacementId} is not`
    throw invalidField('deprecation.replacementModelId', message)
  }

  async #announce(): Promise<void> {
    await this.#read()
    this.#deps.pubSub.publish(CHANNEL, '')
  }

  /** Reads run one after another, so that an older result never replaces a newer one. */
  #read(): Promise<void> {
    const before = this.#reading.catch(() => {})
    const read = this.#readAfter(before)
    this.#reading = read
    return read
  }

  async #readAfter(before: Promise<void>): Promise<void> {
    const { changes, timeline } = this.#deps
    await before
    // The version is read before the rows, so a change in between is read again, never missed.
    const version = await changes.version()
    timeline.follow(await changes.listValid())
    this.#version = version
  }
}

function checkInstant(effectiveAt: Date | undefined, now: Date): Date {
  if (effectiveAt === undefined) return now
  if (effectiveAt < now) {
    const [sent, present] = [effectiveAt.toISOString(), now.toISOString()]
    throw invalidField(
      'effectiveAt',
      `is ${sent}, but must not be in the past (now is ${present}); omit it to apply the change at once`,
    )
  }
  const latest = new Date(now)
  latest.setUTCFullYear(latest.getUTCFullYear() + YEARS_AHEAD_MAX)
  if (effectiveAt > latest) {
    throw invalidField(
      'effectiveAt',
      `is ${effectiveAt.toISOString()}, but must be at most ${YEARS_AHEAD_MAX} years ahead`,
    )
  }
  return effectiveAt
}
