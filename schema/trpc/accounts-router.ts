import {
  AccountIdInput,
  CreateAccountInput,
  GrantAccountInput,
  SetStakeInput,
  SetTierInput,
} from '../../server/domain/accounts/inputs.ts'
import { formatUsd } from '../../server/domain/money.ts'
import { PageRequest } from '../../server/domain/page.ts'
import { toAccountRecord } from './account-record.ts'
import { operatorProcedure, router } from './trpc.ts'

export const accountsRouter = router({
  create: operatorProcedure.input(CreateAccountInput).mutation(async ({ ctx, input }) => {
    const { account, adminKey } = await ctx.services.accounts.create(input)
    return { account: toAccountRecord(account), adminKey }
  }),

  list: operatorProcedure.input(PageRequest.prefault({})).query(async ({ ctx, input }) => {
    const { items, endCursor, hasNextPage } = await ctx.services.accounts.list(input)
    return { accounts: items.map(toAccountRecord), endCursor, hasNextPage }
  }),

  get: operatorProcedure
    .input(AccountIdInput)
    .query(async ({ ctx, input }) => toAccountRecord(await ctx.services.accounts.get(input.accountId))),

  grant: operatorProcedure.input(GrantAccountInput).mutation(async ({ ctx, input }) => {
    const transfer = await ctx.services.accounts.grant(input)
    return {
      transferId: transfer.id,
      amountUsd: formatUsd(transfer.amountNanoUsd),
      balanceAfterUsd: formatUsd(transfer.balanceAfterNanoUsd),
    }
  }),

  setTier: operatorProcedure
    .input(SetTierInput)
    .mutation(async ({ ctx, input }) =>
      toAccountRecord(await ctx.services.accounts.setTier(input.accountId, input.tier)),
    ),

  setStake: operatorProcedure
    .input(SetStakeInput)
    .mutation(async ({ ctx, input }) =>
      toAccountRecord(await ctx.services.accounts.setStake(input.accountId, input.stakeDiemNano)),
    ),
})
