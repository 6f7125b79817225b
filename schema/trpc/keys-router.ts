import { AccountIdInput } from '../../server/domain/accounts/inputs.ts'
import type { ApiKey } from '../../server/domain/api-keys/api-key.ts'
import type { ApiKeyWithUsage } from '../../server/domain/api-keys/api-key-service.ts'
import { CreateAccountKeyInput, RevokeAccountKeyInput } from '../../server/domain/api-keys/inputs.ts'
import type { SpendNano } from '../../server/domain/api-keys/key-spend.ts'
import { formatUsd } from '../../server/domain/money.ts'
import { described } from '../../server/domain/validation/described.ts'
import { operatorProcedure, router } from './trpc.ts'

export const keysRouter = router({
  create: operatorProcedure.input(described(CreateAccountKeyInput)).mutation(async ({ ctx, input }) => {
    const { accountId, limits, ...settings } = input
    const { key, secret } = await ctx.services.access.apiKeys.createForAccount(accountId, {
      ...settings,
      limits: { usdNano: limits.usd, diemNano: limits.diem },
    })
    return { key: toKeyRecord(key), apiKey: secret }
  }),

  list: operatorProcedure.input(described(AccountIdInput)).query(async ({ ctx, input }) => {
    const account = await ctx.services.accounts.get(input.accountId)
    const keys = await ctx.services.access.apiKeys.list(account.id)
    return keys.map(toListedKeyRecord)
  }),

  revoke: operatorProcedure.input(described(RevokeAccountKeyInput)).mutation(async ({ ctx, input }) => {
    await ctx.services.access.apiKeys.revoke(input.accountId, input.keyId)
    return { keyId: input.keyId }
  }),
})

function toKeyRecord(key: ApiKey) {
  return {
    keyId: key.id,
    accountId: key.accountId,
    type: key.type,
    description: key.description,
    limits: { usd: toLimit(key.limits.usdNano), diem: toLimit(key.limits.diemNano) },
    limitPeriod: key.limitPeriod,
    modelPrivacy: key.modelPrivacy,
    last6Chars: key.last6Chars,
    createdAt: key.createdAt.toISOString(),
    expiresAt: key.expiresAt?.toISOString() ?? null,
    lastUsedAt: key.lastUsedAt?.toISOString() ?? null,
  }
}

function toListedKeyRecord(key: ApiKeyWithUsage) {
  return {
    ...toKeyRecord(key),
    usage: {
      trailingSevenDays: toSpend(key.usage.trailingSevenDays),
      currentPeriod: toSpend(key.usage.currentPeriod),
    },
  }
}

function toSpend({ usdNano, diemNano }: SpendNano): { usd: string; diem: string } {
  return { usd: formatUsd(usdNano), diem: formatUsd(diemNano) }
}

function toLimit(amountNano: bigint | null): string | null {
  return amountNano === null ? null : formatUsd(amountNano)
}
