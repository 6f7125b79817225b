import type { LinkedWallet } from '../../server/domain/wallets/linked-wallet.ts'
import type { MadeLink } from '../../server/domain/wallets/wallet-links.ts'
import { builder } from '../builder.ts'
import { requireCaller } from '../context.ts'
import { LinkedWalletType } from './linked-wallet.ts'
import { SignInChallengeType } from './sign-in-challenge.ts'

const LinkWalletInput = builder.inputType('LinkWalletInput', {
  description: 'A message signed by a wallet to link it to this account.',
  fields: (t) => ({
    payload: t.string({
      required: true,
      description:
        'Base64 of the signed JSON, as in the header SIGN-IN-WITH-X. Its statement and Resources name only this account, as in `walletLinkChallenge`.',
    }),
  }),
})

const LinkWalletPayload = builder.objectRef<MadeLink>('LinkWalletPayload').implement({
  description: 'The new link, and the amounts that moved.',
  fields: (t) => ({
    linkedWallet: t.field({
      type: LinkedWalletType,
      description: 'The wallet and its link.',
      resolve: ({ wallet }) => wallet,
    }),
    movedUsd: t.field({
      type: 'Usd',
      description: "The free USD balance of the wallet's own account, which moved to this account.",
      resolve: ({ movedNano }) => movedNano.usd,
    }),
    movedUsdNanoUsd: t.field({
      type: 'NanoUsd',
      description: '`movedUsd` in nano-USD.',
      resolve: ({ movedNano }) => movedNano.usd,
    }),
    movedDiem: t.field({
      type: 'Usd',
      description: "The rest of the wallet's DIEM of this day, which moved to this account.",
      resolve: ({ movedNano }) => movedNano.diem,
    }),
    movedDiemNanoUsd: t.field({
      type: 'NanoUsd',
      description: '`movedDiem` in nano-USD.',
      resolve: ({ movedNano }) => movedNano.diem,
    }),
  }),
})

const UnlinkWalletInput = builder.inputType('UnlinkWalletInput', {
  description: 'The wallet to unlink.',
  fields: (t) => ({ address: t.string({ required: true, description: "The wallet's address." }) }),
})

const UnlinkWalletPayload = builder.objectRef<LinkedWallet>('UnlinkWalletPayload').implement({
  description: 'The removed link.',
  fields: (t) => ({
    linkedWallet: t.field({ type: LinkedWalletType, description: 'The wallet and its link.', resolve: (link) => link }),
  }),
})

builder.queryField('walletLinkChallenge', (t) =>
  t.field({
    type: SignInChallengeType,
    description: 'A message for a wallet to sign, for `linkWallet`. This query stores nothing.',
    authScopes: { admin: true },
    resolve: (_root, _args, context) =>
      context.services.wallets.challenges.createLink(requireCaller(context).accountId),
  }),
)

builder.mutationField('linkWallet', (t) =>
  t.field({
    type: LinkWalletPayload,
    description:
      'Links the wallet that signed the message to the account. Within a second, its requests and payments count for the account. Its free balance moves to the account. Running requests are charged to the account where they began; what they leave unspent moves when the link is repeated. Fails with CONFLICT if the wallet is linked to another account or the account has 20 wallets.',
    authScopes: { admin: true },
    args: { input: t.arg({ type: LinkWalletInput, required: true, description: 'The signed message.' }) },
    resolve: (_root, { input }, context) => {
      const { services, transport } = context
      return services.wallets.links.link(requireCaller(context).accountId, input.payload, transport.remoteAddress)
    },
  }),
)

builder.mutationField('unlinkWallet', (t) =>
  t.field({
    type: UnlinkWalletPayload,
    description:
      'Unlinks a wallet, which then uses its own account again. No money moves, and keys that it created remain. Fails with NOT_FOUND if the wallet is not linked to this account.',
    authScopes: { admin: true },
    args: { input: t.arg({ type: UnlinkWalletInput, required: true, description: 'The wallet.' }) },
    resolve: (_root, { input }, context) =>
      context.services.wallets.links.unlink(requireCaller(context).accountId, input.address),
  }),
)
