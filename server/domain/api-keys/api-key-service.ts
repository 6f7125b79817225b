import { z } from 'zod'
import type { Caller, RequestContext } from '../caller.ts'
import { type Clock, utcDay } from '../clock.ts'
import { accountMissing, DomainError } from '../errors.ts'
import type { KeyEvents } from '../key-events.ts'
import { decodeCursor, type Page, type PageRequest, toPage } from '../page.ts'
import type { RateLimitService } from '../rate-limits/rate-limit-service.ts'
import type { RatePlan } from '../rate-limits/rate-plan.ts'
import type { RatePlans } from '../rate-limits/rate-plans.ts'
import { lastDays } from '../usage/reports/usage-range.ts'
import { invalidField } from '../validation/parse-input.ts'
import { isUuid } from '../validation/uuid.ts'
import type { ApiKey } from './api-key.ts'
import type { ApiKeyIssuer, ApiKeySettings, IssuedApiKey } from './api-key-issuer.ts'
import type { ApiKeyRepository, InsertBounds, InsertOutcome } from './api-key-repository.ts'
import type { CreateApiKeyInput, RotateApiKeyInput, UpdateApiKeyInput } from './inputs.ts'
import { type ApiKeyUsage, NO_USAGE, periodSpentNano } from './key-spend.ts'

const TRAILING_DAYS = 7

export interface ApiKeyWithUsage extends ApiKey {
  usage: ApiKeyUsage
}

export interface ApiKeyServiceDeps {
  repository: ApiKeyRepository
  issuer: ApiKeyIssuer
  events: KeyEvents
  ratePlans: Pick<RatePlans, 'planForKeyCreation'>
  rateLimits: Pick<RateLimitService, 'admit' | 'refund' | 'refuse'>
  clock: Clock
  /** Maximum number of keys per account that are neither revoked nor expired. */
  activeKeysMax: number
}

/**
 * API keys of accounts. Every method takes the account, and rejects a key of another account exactly like one that does
 * not exist: `invalid_request`. Limits are nano-USD per limit period.
 */
export class ApiKeyService {
  readonly #deps: ApiKeyServiceDeps

  constructor(deps: ApiKeyServiceDeps) {
    this.#deps = deps
  }

  /**
   * Creates a key for the caller's account and returns its secret, only once. Fails with `rate_limited` after 20
   * creations in a minute, and with `invalid_request` if the account has 500 active keys or the expiry is in the past.
   */
  create(context: RequestContext, input: CreateApiKeyInput): Promise<IssuedApiKey> {
    this.#assertFuture(input.expiresAt)
    return this.#countedAsCreation(context.caller, (plan) => this.#issue(context.caller.accountId, input, plan))
  }

  /** Creates a key for an operator, without a rate limit. Fails with `not_found` for an unknown account. */
  async createForAccount(accountId: string, input: CreateApiKeyInput): Promise<IssuedApiKey> {
    this.#assertFuture(input.expiresAt)
    if (!isUuid(accountId)) throw accountMissing(accountId)
    return this.#issue(accountId, input, null)
  }

  /**
   * Issues a new key with the settings of an active one. The old one stops after `graceSeconds`, immediately if 0. Counts
   * as a creation; fails like `create` and `update`.
   */
  rotate(context: RequestContext, { id, graceSeconds }: RotateApiKeyInput): Promise<IssuedApiKey> {
    return this.#countedAsCreation(context.caller, (plan) =>
      this.#replace(context.caller.accountId, { id, graceSeconds }, plan),
    )
  }

  /**
   * Changes the fields present in `input`. Fails with `invalid_request` for a key that is unknown, foreign, revoked or
   * expired.
   */
  async update(accountId: string, { id, ...changes }: UpdateApiKeyInput): Promise<ApiKey> {
    this.#assertFuture(changes.expiresAt)
    const key = isUuid(id) ? await this.#deps.repository.update(this.#target(accountId, id), changes) : undefined
    if (key === undefined) throw keyInactive()
    this.#deps.events.announce({ kind: 'key-changed', id: key.id })
    return key
  }

  /** Revokes a key permanently; every process rejects it within a second. Fails like `update`. */
  async revoke(accountId: string, id: string): Promise<void> {
    const revoked = isUuid(accountId) && isUuid(id) && (await this.#deps.repository.revoke(this.#target(accountId, id)))
    if (!revoked) throw keyInactive()
    this.#deps.events.announce({ kind: 'key-revoked', id: id.toLowerCase() })
  }

  /** Active keys with their spending, newest first. */
  async list(accountId: string): Promise<ApiKeyWithUsage[]> {
    const keys = isUuid(accountId) ? await this.#deps.repository.listActive(accountId, this.#deps.clock.now()) : []
    return this.#withUsage(accountId, keys)
  }

  /** One page of the active keys, newest first. Fails with `invalid_request` on a cursor of another list or account. */
  async listPage(accountId: string, { first, after }: PageRequest): Promise<Page<ApiKey>> {
    const scope = { list: 'api_keys', accountId }
    const [beforeKeyId] = after == null ? [] : decodeCursor(scope, z.tuple([z.uuid()]), after)
    const keys = await this.#deps.repository.listActive(accountId, this.#deps.clock.now(), {
      limit: first + 1,
      beforeKeyId,
    })
    return toPage(keys, first, { scope, keyOf: (key) => [key.id] })
  }

  async find(accountId: string, id: string): Promise<ApiKey | undefined> {
    return isUuid(id) ? this.#deps.repository.findActive(accountId, id, this.#deps.clock.now()) : undefined
  }

  /** One active key with its spending. Fails with `invalid_request` for any other. */
  async get(accountId: string, id: string): Promise<ApiKeyWithUsage> {
    const key = await this.find(accountId, id)
    const [found] = key === undefined ? [] : await this.#withUsage(accountId, [key])
    if (found === undefined) throw new DomainError('invalid_request', 'API key not found', { field: 'id' })
    return found
  }

  async usageOf(accountId: string, keys: readonly ApiKey[]): Promise<Map<string, ApiKeyUsage>> {
    if (keys.length === 0) return new Map()
    const now = this.#deps.clock.now()
    const keyIds = keys.map((key) => key.id)
    const spend = await this.#deps.repository.listSpend(accountId, keyIds, lastDays(TRAILING_DAYS, utcDay(now)))
    const usage = new Map(keys.map((key) => [key.id, structuredClone(NO_USAGE)]))
    const periods = new Map(keys.map((key) => [key.id, key.limitPeriod]))
    for (const row of spend) {
      const of = usage.get(row.keyId)
      const period = periods.get(row.keyId)
      if (of === undefined || period === undefined) continue
      of.currentPeriod[`${row.currency}Nano`] = periodSpentNano(row, period, utcDay(now))
      of.trailingSevenDays[`${row.currency}Nano`] = BigInt(row.recentNano ?? 0)
      of.held[`${row.currency}Nano`] = row.heldNano
    }
    return usage
  }

  async #withUsage(accountId: string, keys: readonly ApiKey[]): Promise<ApiKeyWithUsage[]> {
    const usage = await this.usageOf(accountId, keys)
    return keys.map((key) => ({ ...key, usage: usage.get(key.id) ?? NO_USAGE }))
  }

  async #issue(accountId: string, settings: ApiKeySettings, plan: RatePlan | null): Promise<IssuedApiKey> {
    const draft = this.#deps.issuer.issue(accountId, settings)
    const outcome = await this.#deps.repository.insertWithin(draft, this.#boundsOf(plan))
    this.#assertInserted(outcome, accountId, plan)
    return { key: draft.key, secret: draft.secret }
  }

  async #replace(accountId: string, { id, graceSeconds }: RotateApiKeyInput, plan: RatePlan): Promise<IssuedApiKey> {
    if (!isUuid(id)) throw keyInactive()
    const target = this.#target(accountId, id)
    const graceEndsAt = new Date(target.at.getTime() + graceSeconds * 1000)
    const successor = (old: ApiKey) => ({
      draft: this.#deps.issuer.issue(accountId, old),
      oldEndsAt: graceSeconds === 0 ? null : earliest(old.expiresAt, graceEndsAt),
    })
    const replaced = await this.#deps.repository.replace(target, successor, this.#boundsOf(plan))
    if (replaced === undefined) throw keyInactive()
    this.#assertInserted(replaced.outcome, accountId, plan)
    this.#deps.events.announce({ kind: graceSeconds === 0 ? 'key-revoked' : 'key-changed', id: target.keyId })
    return { key: replaced.draft.key, secret: replaced.draft.secret }
  }

  #boundsOf(plan: RatePlan | null): InsertBounds {
    return { activeMax: this.#deps.activeKeysMax, creationsPerMinute: plan?.requests.limit ?? null }
  }

  /**
   * Refunds a creation that fails after it was counted, so that only existing keys use up the window. The window stops
   * most floods before they reach the database, which then counts exactly.
   */
  async #countedAsCreation(caller: Caller, create: (plan: RatePlan) => Promise<IssuedApiKey>): Promise<IssuedApiKey> {
    const { rateLimits, ratePlans } = this.#deps
    const grant = await rateLimits.admit(ratePlans.planForKeyCreation(caller))
    try {
      return await create(grant.plan)
    } catch (error) {
      rateLimits.refund(grant)
      throw error
    }
  }

  #target(accountId: string, id: string): { accountId: string; keyId: string; at: Date } {
    return { accountId, keyId: id.toLowerCase(), at: this.#deps.clock.now() }
  }

  #assertFuture(expiresAt: Date | null | undefined): void {
    if (expiresAt == null || expiresAt > this.#deps.clock.now()) return
    throw invalidField('expiresAt', `must be in the future; it is ${expiresAt.toISOString()}`)
  }

  #assertInserted(outcome: InsertOutcome, accountId: string, plan: RatePlan | null): void {
    if (outcome === 'account_missing') throw accountMissing(accountId)
    if (outcome === 'inserted') return
    if (typeof outcome === 'object' && plan !== null) throw this.#deps.rateLimits.refuse(plan, outcome.waitSeconds)
    throw new DomainError(
      'invalid_request',
      `The account has ${this.#deps.activeKeysMax} active API keys, the maximum. Delete one that is no longer used, then try again.`,
      { facts: { activeKeysMax: this.#deps.activeKeysMax } },
    )
  }
}

function keyInactive(): DomainError {
  return new DomainError('invalid_request', 'API key not found or expired', { field: 'id' })
}

function earliest(a: Date | null, b: Date): Date {
  return a !== null && a < b ? a : b
}
