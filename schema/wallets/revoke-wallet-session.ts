import type { WalletAddress } from '../../server/domain/wallets/wallet-address.ts'
import { builder } from '../builder.ts'
import { WalletType } from './wallet.ts'

const RevokeWalletSessionInput = builder.inputType('RevokeWalletSessionInput', {
  description: 'The session to revoke.',
  fields: (t) => ({
    sessionToken: t.string({
      required: true,
      description: 'The token from `signInWithWallet`. No other credential is required.',
    }),
  }),
})

const RevokeWalletSessionPayload = builder.objectRef<WalletAddress>('RevokeWalletSessionPayload').implement({
  description: 'The revoked session.',
  fields: (t) => ({
    wallet: t.field({ type: WalletType, description: 'The wallet of the session.', resolve: (wallet) => wallet }),
  }),
})

builder.mutationField('revokeWalletSession', (t) =>
  t.field({
    type: RevokeWalletSessionPayload,
    description:
      'Signs a wallet out: the session becomes invalid, and within a second its sockets and event streams are closed. Other sessions of the wallet remain. Fails with UNAUTHENTICATED if the token is invalid or has expired.',
    args: { input: t.arg({ type: RevokeWalletSessionInput, required: true, description: 'The session.' }) },
    resolve: (_root, { input }, { services }) => services.wallets.sessions.revoke(input.sessionToken),
  }),
)
