import type { WalletAddress } from '../../server/domain/wallets/wallet-address.ts'
import { builder } from '../builder.ts'
import { WalletType } from './wallet.ts'

interface SignedIn {
  sessionToken: string
  expiresAt: Date
  wallet: WalletAddress
  accountId: string
}

const SignInWithWalletInput = builder.inputType('SignInWithWalletInput', {
  description: 'A message that a wallet signed.',
  fields: (t) => ({
    payload: t.string({
      required: true,
      description: "The value of the REST API's header SIGN-IN-WITH-X: Base64 of the signed JSON.",
    }),
  }),
})

const SignInWithWalletPayload = builder.objectRef<SignedIn>('SignInWithWalletPayload').implement({
  description: 'The session of a wallet.',
  fields: (t) => ({
    sessionToken: t.exposeString('sessionToken', {
      description: 'Token for `Authorization: Bearer`, also on sockets. It can read the account but change nothing.',
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      description: 'When the session expires and its sockets are closed.',
    }),
    wallet: t.field({ type: WalletType, description: 'The wallet that signed.', resolve: ({ wallet }) => wallet }),
    accountId: t.exposeID('accountId', { description: "The wallet's account, as `Account.accountId`." }),
  }),
})

builder.mutationField('signInWithWallet', (t) =>
  t.field({
    type: SignInWithWalletPayload,
    description:
      'Signs a wallet in with a signed message, which is accepted only once and within 5 minutes. Fails with UNAUTHENTICATED and the reason in `extensions.reason`.',
    args: { input: t.arg({ type: SignInWithWalletInput, required: true, description: 'The signed message.' }) },
    resolve: async (_root, { input }, { services, transport }) => {
      const caller = await services.wallets.signIn.signIn(input.payload, transport.remoteAddress)
      const session = await services.wallets.sessions.issue(caller)
      const wallet = { chain: caller.walletChain, address: caller.walletAddress }
      return { ...session, wallet, accountId: caller.accountId }
    },
  }),
)
