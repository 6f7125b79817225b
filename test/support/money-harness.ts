import type { Kysely } from 'kysely'
import { createMoney } from '../../server/app/create-money.ts'
import type { Database } from '../../server/db/schema.ts'
import type { Caller, KeyCaller } from '../../server/domain/caller.ts'
import type { Clock } from '../../server/domain/clock.ts'
import { createIdSource } from '../../server/domain/ids.ts'
import type { Usage } from '../../server/domain/metering/hold.ts'
import { HoldRepository } from '../../server/domain/metering/hold-repository.ts'
import type { MeteredRequest } from '../../server/domain/metering/metered-request.ts'
import type { Patience } from '../../server/domain/metering/metering-service.ts'
import type { RateLimiter, RatePlan } from '../../server/domain/rate-limits/rate-plan.ts'
import { MemoryPubSub } from '../../server/store/memory/memory-pub-sub.ts'

const OPEN_WINDOW = { limit: 1_000_000, remaining: 1_000_000, resetAtMs: 0, nowMs: 0 }
const NEVER_ABORTED = new AbortController().signal
const NO_MONEY = { balance_nano: 0n, held_nano: 0n, sequence: 0n, epoch_day: null }
const silent = { info: () => {}, warn: () => {}, error: () => {} }

/** A limiter that lets everything through and remembers what it was told. */
function createOpenLimiter(): RateLimiter & { givenBack: number; corrections: unknown[] } {
  const limiter = {
    givenBack: 0,
    corrections: [] as unknown[],
    admit: async (plan: RatePlan) => ({
      plan,
      booking: { sharedAtMs: null, localAtMs: null },
      requests: OPEN_WINDOW,
      tokens: null,
      credits: null,
    }),
    refund: () => {
      limiter.givenBack++
    },
    correct: (_grant: unknown, used: unknown) => {
      limiter.corrections.push(used)
    },
  }
  return limiter
}

const pause = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds))

interface HarnessOptions {
  holds?: HoldRepository
  wait?: (milliseconds: number) => Promise<void>
  patience?: Patience
}

/** One server process's money path on a database, without HTTP. */
export function createMoneyHarness(
  db: Kysely<Database>,
  clock: Clock,
  { holds = new HoldRepository(db), wait = pause, patience }: HarnessOptions = {},
) {
  const ids = createIdSource(clock)
  const rateLimiter = createOpenLimiter()
  const money = createMoney({
    db,
    clock,
    ids,
    log: silent,
    pubSub: new MemoryPubSub(silent),
    wait,
    rateLimits: rateLimiter,
    holds,
    ...(patience === undefined ? {} : { patience }),
  })
  const { metering, ledger, sweeper, accountChanges, processId } = money

  const addKey = async (accountId: string, limits: KeyLimits = {}): Promise<KeyCaller> => {
    const keyId = ids.uuid()
    await db
      .insertInto('api_keys')
      .values({
        account_id: accountId,
        key_id: keyId,
        key_hash: keyId,
        type: 'INFERENCE',
        description: 'test',
        limit_usd_nano: limits.usdNano?.toString() ?? null,
        limit_diem_nano: limits.diemNano?.toString() ?? null,
        limit_period: limits.period ?? 'EPOCH',
        model_privacy: 'ALL',
        last6_chars: '000000',
        created_at: clock.now(),
        expires_at: limits.expiresAt ?? null,
        revoked_at: null,
        last_used_at: null,
      })
      .execute()
    return {
      kind: 'key',
      accountId,
      keyId,
      keyType: 'INFERENCE',
      tier: 'standard',
      modelPrivacy: 'ALL',
      expiresAt: null,
    }
  }

  /** An account with a key, USD and, with stake, a DIEM allowance. */
  const addCaller = async (funds: { usdNano?: bigint; stakeNano?: bigint } = {}, limits: KeyLimits = {}) => {
    const accountId = ids.uuid()
    await db
      .insertInto('accounts')
      .values({
        account_id: accountId,
        name: 'test',
        kind: 'user',
        tier: 'standard',
        stake_diem_nano: funds.stakeNano ?? 0n,
        wallet_chain: null,
        wallet_address: null,
        created_at: clock.now(),
      })
      .execute()
    await db
      .insertInto('balances')
      .values({ account_id: accountId, currency: 'usd', ...NO_MONEY })
      .execute()
    if (funds.stakeNano !== undefined) await ledger.stakeChanged(accountId)
    if (funds.usdNano !== undefined) await ledger.grant({ accountId, amountNanoUsd: funds.usdNano, reason: 'test' })
    return addKey(accountId, limits)
  }

  const open = (caller: Caller, holdNanoUsd: bigint, signal = NEVER_ABORTED): Promise<MeteredRequest> =>
    metering.open({
      context: { requestId: ids.requestId(), caller, signal },
      plan: { accountId: caller.accountId } as RatePlan,
      holdNanoUsd,
    })

  return { metering, ledger, sweeper, holds, rateLimiter, accountChanges, processId, addCaller, addKey, open, clock }
}

export type MoneyHarness = ReturnType<typeof createMoneyHarness>

export interface KeyLimits {
  usdNano?: bigint
  diemNano?: bigint
  period?: 'EPOCH' | 'MONTH' | 'LIFETIME'
  expiresAt?: Date
}

/** Usage of one model whose only line costs `chargeNanoUsd`. */
export function usageOf(chargeNanoUsd: bigint, overrides: Partial<Usage> = {}): Usage {
  return {
    sku: 'test-model',
    modelName: 'Test Model',
    modelType: 'LLM',
    unitType: 'tokens',
    lines: [{ type: 'Input', units: 10, amountNanoUsd: chargeNanoUsd }],
    outcome: 'completed',
    estimated: false,
    upstreamId: 'main',
    retries: 0,
    durationMs: 5,
    ...overrides,
  }
}
