import type { WalletAddress } from '../../server/domain/wallets/wallet-address.ts'
import { builder } from '../builder.ts'
import { WalletType } from './wallet.ts'

const RevokeWalletSessionInput = builder.inputType('RevokeWalletSessionInput', {
  description: 'The session to be ended.',
  fields: (t) => ({
    sessionToken: t.string({
      required: true,
      description: 'As `signInWithWallet` gave it; to have it is to have the right.',
    }),
  }),
})

const RevokeWalletSessionPayload = builder.objectRef<WalletAddress>('RevokeWalletSessionPayload').implement({
  description: 'The session that was ended.',
  fields: (t) => ({
    wallet: t.field({ type: WalletType, description: 'The wallet that it was of.', resolve: (wallet) => wallet }),
  }),
})

builder.mutationField('revokeWalletSession', (t) =>
  t.field({
    type: RevokeWalletSessionPayload,
    description:
      'Signs a wallet out: the session opens nothing from then on, and within a second its sockets and event streams are closed. Other sessions of the wallet go on. Fails with UNAUTHENTICATED for a token that is not valid or has ended by itself.',
    args: { input: t.arg({ type: RevokeWalletSessionInput, required: true, description: 'The session.' }) },
    resolve: (_root, { input }, { services }) => services.wallets.sessions.revoke(input.sessionToken),
  }),
)
