import type { LinkedWallet } from '../../server/domain/wallets/linked-wallet.ts'
import { LINKED_WALLETS_MAX } from '../../server/domain/wallets/wallet-links.ts'
import { AccountType } from '../account/account.ts'
import { builder } from '../builder.ts'
import { WalletType } from './wallet.ts'

export const LinkedWalletType = builder.objectRef<LinkedWallet>('LinkedWallet').implement({
  description: 'A wallet that acts as the account: it signs in as the account, and its payments are credited to it.',
  fields: (t) => ({
    wallet: t.field({ type: WalletType, description: 'The wallet.', resolve: (linked) => linked }),
    linkedAt: t.expose('linkedAt', { type: 'DateTime', description: 'When the wallet was linked.' }),
  }),
})

builder.objectField(AccountType, 'wallets', (t) =>
  t.field({
    type: [LinkedWalletType],
    description: 'The wallets linked to the account, in the order in which they were linked; at most 20.',
    nullable: true,
    authScopes: { owner: true },
    complexity: { field: 1, multiplier: LINKED_WALLETS_MAX },
    resolve: ({ id }, _args, { services }) => services.wallets.links.list(id),
  }),
)
