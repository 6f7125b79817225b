import type { LinkedWallet } from '../../server/domain/wallets/linked-wallet.ts'
import type { MadeLink } from '../../server/domain/wallets/wallet-links.ts'
import { builder } from '../builder.ts'
import { requireCaller } from '../context.ts'
import { LinkedWalletType } from './linked-wallet.ts'
import { SignInChallengeType } from './sign-in-challenge.ts'

const LinkWalletInput = builder.inputType('LinkWalletInput', {
  description: 'A message that a wallet signed to be linked to this account.',
  fields: (t) => ({
    payload: t.string({
      required: true,
      description:
        'Base64 of the signed JSON, as the header SIGN-IN-WITH-X has it; its statement and Resources name this account alone, as those of `walletLinkChallenge` do.',
    }),
  }),
})

const LinkWalletPayload = builder.objectRef<MadeLink>('LinkWalletPayload').implement({
  description: 'The link that was made, and what moved with it.',
  fields: (t) => ({
    linkedWallet: t.field({
      type: LinkedWalletType,
      description: 'The wallet and its link.',
      resolve: ({ wallet }) => wallet,
    }),
    movedUsd: t.field({
      type: 'Usd',
      description: "What was free on the wallet's own account and is on this one now.",
      resolve: ({ movedNano }) => movedNano.usd,
    }),
    movedUsdNanoUsd: t.field({
      type: 'NanoUsd',
      description: '`movedUsd` in nano-USD.',
      resolve: ({ movedNano }) => movedNano.usd,
    }),
    movedDiem: t.field({
      type: 'Usd',
      description: "What was left of the wallet's DIEM of this day, alike.",
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
  description: 'The wallet to be unlinked.',
  fields: (t) => ({ address: t.string({ required: true, description: 'Its address.' }) }),
})

const UnlinkWalletPayload = builder.objectRef<LinkedWallet>('UnlinkWalletPayload').implement({
  description: 'The link that was ended.',
  fields: (t) => ({
    linkedWallet: t.field({ type: LinkedWalletType, description: 'The wallet and its link.', resolve: (link) => link }),
  }),
})

builder.queryField('walletLinkChallenge', (t) =>
  t.field({
    type: SignInChallengeType,
    description: 'A message for a wallet to sign, for `linkWallet`. Nothing is stored by asking.',
    authScopes: { admin: true },
    resolve: (_root, _args, context) =>
      context.services.wallets.challenges.createLink(requireCaller(context).accountId),
  }),
)

builder.mutationField('linkWallet', (t) =>
  t.field({
    type: LinkWalletPayload,
    description:
      'Links the wallet that signed the message to the account. From then on, within a second, its requests and payments are those of the account. What it owns moves there; requests that run are charged where they began, and what they leave moves when the link is repeated. Fails with CONFLICT when the wallet is linked elsewhere or the account has 20.',
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
      'Lets the wallet use its own account again. No money moves, and keys that it made stay. Fails with NOT_FOUND for a wallet that is not linked to this account.',
    authScopes: { admin: true },
    args: { input: t.arg({ type: UnlinkWalletInput, required: true, description: 'The wallet.' }) },
    resolve: (_root, { input }, context) =>
      context.services.wallets.links.unlink(requireCaller(context).accountId, input.address),
  }),
)
