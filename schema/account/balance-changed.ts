import type { AccountBalances } from '../../server/domain/ledger/ledger.ts'
import { builder } from '../builder.ts'
import { requireCaller } from '../context.ts'
import { BalanceType } from './balance.ts'

const BalanceChangedEvent = builder.objectRef<AccountBalances>('BalanceChangedEvent').implement({
  description: 'The balances of an account after a change.',
  fields: (t) => ({
    accountId: t.exposeID('accountId', { description: 'The account, as `Account.accountId`.' }),
    balances: t.field({
      type: [BalanceType],
      description: 'One for each currency that the account has used.',
      complexity: { field: 1, multiplier: 2 },
      resolve: ({ balances }) => balances,
    }),
  }),
})

builder.subscriptionField('balanceChanged', (t) =>
  t.field({
    type: BalanceChangedEvent,
    description:
      "The caller's balances: the current ones at once, then again within 250 ms of every change. Rapid changes are combined into one event with the newest value.",
    authScopes: { caller: true },
    subscribe: (_root, _args, context) =>
      context.services.money.ledger.balanceChanges(requireCaller(context).accountId, context.lifetime.signal),
    resolve: (balances) => balances,
  }),
)
