import type { Kysely } from 'kysely'
import type { z } from 'zod'
import { createLimits } from '../../server/app/create-limits.ts'
import type { Database } from '../../server/db/schema.ts'
import { AccountRepository } from '../../server/domain/accounts/account-repository.ts'
import { AccountService } from '../../server/domain/accounts/account-service.ts'
import { ApiKeyIssuer } from '../../server/domain/api-keys/api-key-issuer.ts'
import { ApiKeyRepository } from '../../server/domain/api-keys/api-key-repository.ts'
import { ApiKeyService } from '../../server/domain/api-keys/api-key-service.ts'
import { CreateApiKeyInput } from '../../server/domain/api-keys/inputs.ts'
import { LastUsedRecorder } from '../../server/domain/api-keys/last-used-recorder.ts'
import { AuthService } from '../../server/domain/auth/auth-service.ts'
import { CredentialWatch } from '../../server/domain/auth/credential-watch.ts'
import type { KeyCaller, RequestContext } from '../../server/domain/caller.ts'
import { createIdSource } from '../../server/domain/ids.ts'
import { KeyEvents } from '../../server/domain/key-events.ts'
import { LedgerRepository } from '../../server/domain/ledger/ledger-repository.ts'
import type { PubSub } from '../../server/domain/pub-sub.ts'
import { LimitOverrideRepository } from '../../server/domain/rate-limits/limit-override-repository.ts'
import { LimitOverrideService } from '../../server/domain/rate-limits/limit-override-service.ts'
import { LimitTable } from '../../server/domain/rate-limits/limit-table.ts'
import { MemoryPubSub } from '../../server/store/memory/memory-pub-sub.ts'
import { MemoryWindowStore } from '../../server/store/memory/memory-window-store.ts'
import { createFakeClock, type FakeClock } from './fake-clock.ts'
import { createMoneyHarness } from './money-harness.ts'

export const silentLog = { info: () => {}, warn: () => {}, error: () => {} }

const PEPPER = 'a pepper for tests'

/** One server process's accounts and keys on a database. Pass one `pubSub` to several for several processes. */
export async function createKeyHarness(
  db: Kysely<Database>,
  { clock = createFakeClock(), pubSub = new MemoryPubSub(silentLog) }: { clock?: FakeClock; pubSub?: PubSub } = {},
) {
  const ids = createIdSource(clock)
  const { ledger } = createMoneyHarness(db, clock)
  const repository = new ApiKeyRepository(db)
  const issuer = new ApiKeyIssuer({ ids, clock, prefix: 'service', pepper: PEPPER })
  const events = new KeyEvents({ pubSub })
  await events.start()
  const lastUsed = new LastUsedRecorder({ repository, clock, log: silentLog })
  const lookups: string[] = []
  const countedLookups = {
    findByHash: (hash: string) => {
      lookups.push(hash)
      return repository.findByHash(hash)
    },
  }
  const auth = new AuthService({ repository: countedLookups, events, lastUsed, clock, pepper: PEPPER })
  const credentialWatch = new CredentialWatch({ repository, events, pubSub, clock, log: silentLog })
  const windows = new MemoryWindowStore({ clock })
  const limits = createLimits(LimitTable.parse(undefined), {
    windows,
    clock,
    ids,
    log: silentLog,
    db,
    reports: db,
    jobs: db,
    pubSub,
  })
  await limits.start()
  const { rateLimits, ratePlans } = limits
  const limitOverrides = new LimitOverrideService({ repository: new LimitOverrideRepository(db), ratePlans, events })
  const apiKeys = new ApiKeyService({ repository, issuer, events, ratePlans, rateLimits, clock, activeKeysMax: 500 })
  const accounts = new AccountService({
    accounts: new AccountRepository(db),
    issuer,
    ledger,
    balances: new LedgerRepository(db),
    events,
    clock,
    ids,
  })
  const createAccount = async () => {
    const { account, adminKey } = await accounts.create({ name: 'test', tier: 'standard', grantNanoUsd: 0n })
    return { accountId: account.id, adminKey, caller: await auth.authenticateKey(adminKey) }
  }
  const contextOf = (caller: KeyCaller): RequestContext => ({
    requestId: ids.requestId(),
    caller,
    signal: new AbortController().signal,
  })
  return {
    db,
    clock,
    ids,
    repository,
    issuer,
    events,
    lastUsed,
    lookups,
    auth,
    credentialWatch,
    limits,
    limitOverrides,
    refusals: limits.refusals,
    rateLimits,
    ratePlans,
    apiKeys,
    accounts,
    ledger,
    createAccount,
    contextOf,
  }
}

export type KeyHarness = Awaited<ReturnType<typeof createKeyHarness>>

/** Settings of a key as a front hands them over. */
export function keySettings(overrides: Partial<z.input<typeof CreateApiKeyInput>> = {}) {
  return CreateApiKeyInput.parse({ type: 'INFERENCE', description: 'test', ...overrides })
}
