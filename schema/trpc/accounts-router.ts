import {
  AccountIdInput,
  AccountPageInput,
  CreateAccountInput,
  GrantAccountInput,
  ListAccountsInput,
  RenameAccountInput,
  SetStakeInput,
  SetTierInput,
  SuspendAccountInput,
} from '../../server/domain/accounts/inputs.ts'
import { formatUsd } from '../../server/domain/money.ts'
import { described } from '../../server/domain/validation/described.ts'
import { toRequestRecord, toTransferRecord } from './account-history-records.ts'
import { toAccountRecord } from './account-record.ts'
import { operatorProcedure, router } from './trpc.ts'

export const accountsRouter = router({
  create: operatorProcedure.input(described(CreateAccountInput)).mutation(async ({ ctx, input }) => {
    const { account, adminKey } = await ctx.services.accounts.create(input)
    return { account: toAccountRecord(account), adminKey }
  }),

  list: operatorProcedure.input(described(ListAccountsInput.prefault({}))).query(async ({ ctx, input }) => {
    const { items, endCursor, hasNextPage } = await ctx.services.accounts.list(input)
    return { accounts: items.map(toAccountRecord), endCursor, hasNextPage }
  }),

  get: operatorProcedure
    .input(described(AccountIdInput))
    .query(async ({ ctx, input }) => toAccountRecord(await ctx.services.accounts.get(input.accountId))),

  /** Transfers of both currencies, newest first. */
  ledger: operatorProcedure.input(described(AccountPageInput)).query(async ({ ctx, input: { accountId, ...page } }) => {
    const account = await ctx.services.accounts.get(accountId)
    const { items, endCursor, hasNextPage } = await ctx.services.money.ledger.listTransfers(account.id, page)
    return { transfers: items.map(toTransferRecord), endCursor, hasNextPage }
  }),

  /** Finished requests, newest first. */
  requests: operatorProcedure
    .input(described(AccountPageInput))
    .query(async ({ ctx, input: { accountId, ...page } }) => {
      const account = await ctx.services.accounts.get(accountId)
      const { items, endCursor, hasNextPage } = await ctx.services.usage.requests.list(account.id, page)
      return { requests: items.map(toRequestRecord), endCursor, hasNextPage }
    }),

  grant: operatorProcedure.input(described(GrantAccountInput)).mutation(async ({ ctx, input }) => {
    const transfer = await ctx.services.accounts.grant(input)
    return {
      transferId: transfer.id,
      amountUsd: formatUsd(transfer.amountNanoUsd),
      balanceAfterUsd: formatUsd(transfer.balanceAfterNanoUsd),
    }
  }),

  rename: operatorProcedure
    .input(described(RenameAccountInput))
    .mutation(async ({ ctx, input }) =>
      toAccountRecord(await ctx.services.accounts.rename(input.accountId, input.name)),
    ),

  suspend: operatorProcedure
    .input(described(SuspendAccountInput))
    .mutation(async ({ ctx, input }) =>
      toAccountRecord(await ctx.services.accounts.suspend(input.accountId, input.reason)),
    ),

  resume: operatorProcedure
    .input(described(SuspendAccountInput))
    .mutation(async ({ ctx, input }) => toAccountRecord(await ctx.services.accounts.resume(input.accountId))),

  setTier: operatorProcedure
    .input(described(SetTierInput))
    .mutation(async ({ ctx, input }) =>
      toAccountRecord(await ctx.services.accounts.setTier(input.accountId, input.tier)),
    ),

  setStake: operatorProcedure
    .input(described(SetStakeInput))
    .mutation(async ({ ctx, input }) =>
      toAccountRecord(await ctx.services.accounts.setStake(input.accountId, input.stakeDiemNano)),
    ),
})
