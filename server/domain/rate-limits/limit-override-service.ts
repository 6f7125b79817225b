import { accountMissing, DomainError } from '../errors.ts'
import type { KeyEvents } from '../key-events.ts'
import type { LimitOverrides } from '../limit-overrides.ts'
import { isUuid } from '../validation/uuid.ts'
import type { ClearLimitsInput, SetLimitsInput } from './inputs.ts'
import type { AccountLimitOverrides, LimitOverrideRepository } from './limit-override-repository.ts'
import type { TierLimits } from './limit-table.ts'
import type { RatePlans } from './rate-plans.ts'

export interface AccountLimits extends AccountLimitOverrides {
  /** The account's effective limits: its overrides, then its tier's. */
  inForce: TierLimits
}

export interface LimitOverrideServiceDeps {
  repository: LimitOverrideRepository
  ratePlans: Pick<RatePlans, 'limitsOf'>
  events: Pick<KeyEvents, 'announce'>
}

/**
 * Limits that an operator sets for an account, overriding its tier's, or for an API key, in addition to its account's.
 * Every process applies them within a second. Fails with `not_found` for an account that is unknown or has no such active
 * key.
 */
export class LimitOverrideService {
  readonly #deps: LimitOverrideServiceDeps

  constructor(deps: LimitOverrideServiceDeps) {
    this.#deps = deps
  }

  /** The overrides of the account and its keys, and the account's effective limits. */
  async get(accountId: string): Promise<AccountLimits> {
    const found = isUuid(accountId) ? await this.#deps.repository.find(accountId) : undefined
    if (found === undefined) throw accountMissing(accountId)
    const { tier, account } = found
    return { ...found, inForce: this.#deps.ratePlans.limitsOf({ tier, limitOverrides: { account, key: null } }) }
  }

  async set({ accountId, keyId, limits }: Omit<SetLimitsInput, 'reason'>): Promise<AccountLimits> {
    return this.#write({ accountId, keyId }, limits)
  }

  /** Removes the overrides of the account or key. */
  async clear({ accountId, keyId }: Omit<ClearLimitsInput, 'reason'>): Promise<AccountLimits> {
    return this.#write({ accountId, keyId }, null)
  }

  async #write(
    { accountId, keyId }: { accountId: string; keyId: string | undefined },
    limits: LimitOverrides | null,
  ): Promise<AccountLimits> {
    const { repository, events } = this.#deps
    if (!isUuid(accountId)) throw accountMissing(accountId)
    if (keyId === undefined) {
      if (!(await repository.setOfAccount(accountId, limits))) throw accountMissing(accountId)
      events.announce({ kind: 'account-changed', id: accountId.toLowerCase() })
    } else {
      const written = isUuid(keyId) && (await repository.setOfKey(accountId, keyId, limits))
      if (!written) throw new DomainError('not_found', `The account has no active API key ${keyId.slice(0, 64)}`)
      events.announce({ kind: 'key-changed', id: keyId.toLowerCase() })
    }
    return this.get(accountId)
  }
}
