import { builder } from '../builder.ts'
import { WalletType } from './wallet.ts'
import type { WalletAddress } from '../../server/domain/wallets/wallet-address.ts'

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
      description: 'What the header SIGN-IN-WITH-X of the REST API takes: Base64 of the signed JSON.',
    }),
  }),
})

const SignInWithWalletPayload = builder.objectRef<SignedIn>('SignInWithWalletPayload').implement({
  description: 'The session of a wallet.',
  fields: (t) => ({
    sessionToken: t.exposeString('sessionToken', {
      description: 'For `Authorization: Bearer`, here and on sockets; it reads the account and changes nothing.',
    }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'When the session and its sockets end.' }),
    wallet: t.field({ type: WalletType, description: 'The wallet that signed.', resolve: ({ wallet }) => wallet }),
    accountId: t.exposeID('accountId', { description: 'Its account, as `Account.accountId`.' }),
  }),
})

builder.mutationField('signInWithWallet', (t) =>
  t.field({
    type: SignInWithWalletPayload,
    description:
      'Signs a wallet in by one signed message, which is taken once and within 5 minutes. Fails with UNAUTHENTICATED, and the reason of the refusal in `extensions.reason`.',
    args: { input: t.arg({ type: SignInWithWalletInput, required: true, description: 'The signed message.' }) },
    resolve: async (_root, { input }, { services, transport }) => {
      const caller = await services.wallets.signIn.signIn(input.payload, transport.remoteAddress)
      const session = await services.wallets.sessions.issue(caller)
      const wallet = { chain: caller.walletChain, address: caller.walletAddress }
      return { ...session, wallet, accountId: caller.accountId }
    },
  }),
)
