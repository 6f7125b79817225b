import { z } from 'zod'
import type { ApiKeyService, ApiKeyWithUsage } from '../api-keys/api-key-service.ts'
import type { AccountTier, Caller } from '../caller.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import { type Clock, nextUtcMidnight } from '../clock.ts'
import type { LedgerService } from '../ledger/ledger-service.ts'
import type { Currency } from '../money.ts'
import { decodeCursor, type Page, type PageRequest, toPage } from '../page.ts'
import { windowsOf } from '../rate-limits/plan-windows.ts'
import { RATE_LIMIT_TYPES, type RateLimitService } from '../rate-limits/rate-limit-service.ts'
import type { RateLimitScope, RatePlan } from '../rate-limits/rate-plan.ts'
import type { RatePlans } from '../rate-limits/rate-plans.ts'
import type { RateLimitType } from '../rate-limits/refusal.ts'

export interface SubjectLimits {
  /** Model id or `endpoint:<path>`. */
  subject: string
  amounts: { type: RateLimitType; amount: number }[]
}

export interface CurrentLimits {
  accessPermitted: boolean
  tier: AccountTier
  /** The spendable amount in nano-USD: the balance, or the remainder of the key's limit if that is less. */
  balancesNano: Partial<Record<Currency, bigint>>
  /** Null for a key that never expires, and for a wallet. */
  keyExpiresAt: Date | null
  /** Next 00:00 UTC, when the DIEM allowance and EPOCH limits reset. */
  nextEpochAt: Date
  limits: SubjectLimits[]
}

export interface LiveWindow {
  type: RateLimitType
  scope: RateLimitScope
  limit: number
  remaining: number
  /** When the window is empty if no other request arrives. */
  resetAt: Date
}

export interface LiveLimits {
  subject: string
  /** XS to L for a text model, otherwise the account's tier. */
  tier: string
  windows: LiveWindow[]
}

export interface CurrentLimitsDeps {
  ratePlans: Pick<RatePlans, 'plansOf'>
  rateLimits: Pick<RateLimitService, 'fillOf'>
  catalogue: Pick<Catalogue, 'list'>
  ledger: Pick<LedgerService, 'balances'>
  apiKeys: Pick<ApiKeyService, 'get'>
  clock: Clock
}

/** The limits of a caller, read from the same plans that the rate limiter uses. */
export class CurrentLimitsService {
  readonly #deps: CurrentLimitsDeps

  constructor(deps: CurrentLimitsDeps) {
    this.#deps = deps
  }

  async get(caller: Caller): Promise<CurrentLimits> {
    const balancesNano = await this.#spendable(caller)
    return {
      accessPermitted: Object.values(balancesNano).some((amountNano) => amountNano > 0n),
      tier: caller.tier,
      balancesNano,
      keyExpiresAt: caller.kind === 'key' ? caller.expiresAt : null,
      nextEpochAt: nextUtcMidnight(this.#deps.clock.now()),
      limits: this.#plansOf(caller).map((plan) => ({ subject: plan.subject, amounts: amountsOf(plan) })),
    }
  }

  /**
   * One page of models and endpoints with the state of their windows, in one store call. Fails with `invalid_request` on
   * a cursor of another list.
   */
  async live(caller: Caller, { first, after }: PageRequest): Promise<Page<LiveLimits>> {
    const scope = { list: 'rate_limits', accountId: caller.accountId }
    const plans = this.#plansOf(caller)
    const [behind] = after == null ? [] : decodeCursor(scope, z.tuple([z.string()]), after)
    // If the cursor's model was removed meanwhile, the list ends as if it had been the last one.
    const start = behind === undefined ? 0 : plans.findIndex(({ subject }) => subject === behind) + 1 || plans.length
    const page = toPage(plans.slice(start, start + first + 1), first, { scope, keyOf: ({ subject }) => [subject] })
    const fills = page.items.length === 0 ? [] : await this.#deps.rateLimits.fillOf(page.items)
    const items = page.items.map((plan, index) => ({
      subject: plan.subject,
      tier: plan.tierName,
      windows: (fills[index] ?? []).map(({ name, perKey, state }) => ({
        type: RATE_LIMIT_TYPES[name],
        scope: perKey ? 'api_key' : plan.scope === 'api_key' ? 'user' : plan.scope,
        limit: state.limit,
        remaining: state.remaining,
        resetAt: new Date(state.resetAtMs),
      })),
    })) satisfies LiveLimits[]
    return { ...page, items }
  }

  #plansOf(caller: Caller): RatePlan[] {
    const models = this.#deps.catalogue.list({ type: 'all', privacy: caller.modelPrivacy })
    return this.#deps.ratePlans.plansOf(caller, models)
  }

  async #spendable({ accountId, keyId }: Caller): Promise<Partial<Record<Currency, bigint>>> {
    const [balances, key] = await Promise.all([
      this.#deps.ledger.balances(accountId),
      keyId === null ? null : this.#deps.apiKeys.get(accountId, keyId),
    ])
    const spendable: Partial<Record<Currency, bigint>> = {}
    for (const { currency, balanceNanoUsd } of balances) {
      const leftNano = key === null ? null : leftOfKeyNano(key, currency)
      spendable[currency] = leftNano === null || leftNano > balanceNanoUsd ? balanceNanoUsd : leftNano
    }
    return spendable
  }
}

/** The smallest limit of each kind: a request must pass all its windows. */
function amountsOf(plan: RatePlan): SubjectLimits['amounts'] {
  const amounts = new Map<RateLimitType, number>()
  for (const { name, charge } of windowsOf(plan)) {
    const type = RATE_LIMIT_TYPES[name]
    amounts.set(type, Math.min(charge.limit, amounts.get(type) ?? charge.limit))
  }
  return [...amounts].map(([type, amount]) => ({ type, amount }))
}

/** The remainder of the key's limit in its period; null without a limit. */
function leftOfKeyNano({ limits, usage }: ApiKeyWithUsage, currency: Currency): bigint | null {
  const limitNano = limits[`${currency}Nano`]
  if (limitNano === null) return null
  const leftNano = limitNano - usage.currentPeriod[`${currency}Nano`]
  return leftNano > 0n ? leftNano : 0n
}
