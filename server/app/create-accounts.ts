import type { Config } from '../config/config.ts'
import { AccountRepository } from '../domain/accounts/account-repository.ts'
import { AccountService } from '../domain/accounts/account-service.ts'
import { ApiKeyIssuer } from '../domain/api-keys/api-key-issuer.ts'
import { ApiKeyRepository } from '../domain/api-keys/api-key-repository.ts'
import { toKeyPrefix } from '../domain/api-keys/api-key-secret.ts'
import { ApiKeyService } from '../domain/api-keys/api-key-service.ts'
import { LastUsedRecorder } from '../domain/api-keys/last-used-recorder.ts'
import { AuthService } from '../domain/auth/auth-service.ts'
import { CredentialWatch } from '../domain/auth/credential-watch.ts'
import { KeyEvents } from '../domain/key-events.ts'
import type { LedgerRepository } from '../domain/ledger/ledger-repository.ts'
import type { LedgerService } from '../domain/ledger/ledger-service.ts'
import type { RateLimitService } from '../domain/rate-limits/rate-limit-service.ts'
import type { RatePlans } from '../domain/rate-limits/rate-plans.ts'
import type { Infrastructure } from './infrastructure.ts'

type AccountParts = Pick<Infrastructure, 'db' | 'reports' | 'clock' | 'ids' | 'log' | 'pubSub'> & {
  rateLimits: RateLimitService
  ratePlans: RatePlans
  ledger: LedgerService
  ledgerRepository: LedgerRepository
}

/** Accounts, their keys, and the authentication of callers. */
export function createAccounts(config: Config, parts: AccountParts) {
  const { db, reports, clock, ids, log, pubSub, rateLimits, ratePlans, ledger, ledgerRepository: balances } = parts
  const pepper = config.secrets.keyPepper
  const repository = new ApiKeyRepository(db, reports)
  const events = new KeyEvents({ pubSub })
  const lastUsed = new LastUsedRecorder({ repository, clock, log })
  const issuer = new ApiKeyIssuer({ ids, clock, prefix: toKeyPrefix(config.service.name), pepper })
  const auth = new AuthService({ repository, events, lastUsed, clock, pepper })
  const credentialWatch = new CredentialWatch({ repository, events, pubSub, clock, log })
  const apiKeys = new ApiKeyService({
    repository,
    issuer,
    events,
    ratePlans,
    rateLimits,
    clock,
    activeKeysMax: config.limits.keys.activePerAccount,
  })
  const accounts = new AccountService({
    accounts: new AccountRepository(db, reports),
    issuer,
    ledger,
    balances,
    events,
    clock,
    ids,
  })
  return { accounts, apiKeys, auth, credentialWatch, events, lastUsed }
}
