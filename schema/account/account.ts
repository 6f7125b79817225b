import type { Account } from '../../server/domain/accounts/account.ts'
import type { AccountTier } from '../../server/domain/caller.ts'
import { DomainError } from '../../server/domain/errors.ts'
import { builder } from '../builder.ts'
import { type GraphQLContext, requireCaller } from '../context.ts'
import { oncePerOperation } from '../once-per-operation.ts'
import { WalletType } from '../wallets/wallet.ts'
import { BalanceType } from './balance.ts'

const AccountKind = builder.enumType('AccountKind', {
  description: 'How an account was created.',
  values: {
    USER: { value: 'user' as const, description: 'Created by the operator.' },
    WALLET: { value: 'wallet' as const, description: 'Created automatically for a wallet.' },
  },
})

/** One line per tier, so that a new tier does not compile until it is described. */
const TIERS: Record<Uppercase<AccountTier>, { value: AccountTier; description: string }> = {
  STANDARD: { value: 'standard', description: 'The default limits.' },
  PARTNER: { value: 'partner', description: 'Higher limits, assigned by the operator.' },
  STAFF: { value: 'staff', description: "Limits for the operator's own accounts." },
}

const AccountTierType = builder.enumType('AccountTier', {
  description: 'Tier of an account, which decides its rate limits.',
  values: TIERS,
})

/** Only the id, so an INFERENCE key can read its balance without access to the account. */
export interface AccountReference {
  id: string
}

export const AccountType = builder.objectRef<AccountReference>('Account')

builder.node(AccountType, {
  name: 'Account',
  description: 'The account that a credential belongs to: one balance, one set of limits.',
  id: { resolve: ({ id }) => id, description: 'Opaque, globally unique id.' },
  // Another account is treated as if it did not exist.
  loadOne: (id, context) => (id === context.caller?.accountId ? { id } : null),
  fields: (t) => ({
    accountId: t.exposeID('id', { description: "The account's id in the REST API and for operators." }),
    name: t.string({
      description: "The name set by the operator; for a wallet's account, its address.",
      nullable: true,
      authScopes: { owner: true },
      resolve: async ({ id }, _args, context) => (await loadAccount(id, context)).name,
    }),
    kind: t.field({
      type: AccountKind,
      description: 'How the account was created.',
      nullable: true,
      authScopes: { owner: true },
      resolve: async ({ id }, _args, context) => (await loadAccount(id, context)).kind,
    }),
    tier: t.field({
      type: AccountTierType,
      description: 'The tier that decides the rate limits.',
      resolve: (_account, _args, context) => requireCaller(context).tier,
    }),
    wallet: t.field({
      type: WalletType,
      nullable: true,
      description: 'The wallet that owns the account; null for an account created by the operator.',
      authScopes: { owner: true },
      resolve: async ({ id }, _args, context) => (await loadAccount(id, context)).wallet,
    }),
    balances: t.field({
      type: [BalanceType],
      description: 'One for each currency that the account has used.',
      complexity: { field: 1, multiplier: 2 },
      resolve: ({ id }, _args, { services }) => services.money.ledger.balances(id),
    }),
    diemAllowance: t.field({
      type: 'Usd',
      description: 'The DIEM granted to the account for the current UTC day, including any part already spent.',
      resolve: async ({ id }, _args, context) => (await loadDiemEpoch(id, context)).allocationNano,
    }),
    diemAllowanceNanoUsd: t.field({
      type: 'NanoUsd',
      description: '`diemAllowance` in nano-USD.',
      resolve: async ({ id }, _args, context) => (await loadDiemEpoch(id, context)).allocationNano,
    }),
  }),
})

type AccountDescription = Pick<Account, 'name' | 'kind' | 'wallet'>

/** A wallet that was never credited has an account without a row. */
async function readAccount(id: string, { caller, services }: GraphQLContext): Promise<AccountDescription> {
  try {
    return await services.accounts.describe(id)
  } catch (error) {
    if (caller?.kind !== 'wallet' || !(error instanceof DomainError && error.code === 'not_found')) throw error
    const { walletChain: chain, walletAddress: address } = caller
    return { name: address, kind: 'wallet', wallet: { chain, address } }
  }
}

const loadAccount = oncePerOperation(readAccount)
const loadDiemEpoch = oncePerOperation((id, { services }) => services.money.ledger.diemEpoch(id))

builder.queryField('viewer', (t) =>
  t.field({
    type: AccountType,
    nullable: true,
    description: 'The authenticated account.',
    authScopes: { caller: true },
    resolve: (_root, _args, context) => ({ id: requireCaller(context).accountId }),
  }),
)
