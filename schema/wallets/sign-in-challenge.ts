import type { SignInChallenge } from '../../server/domain/wallets/sign-in/sign-in-challenge.ts'
import { builder } from '../builder.ts'

type Info = SignInChallenge['info']
type SupportedChain = SignInChallenge['supportedChains'][number]

const SignInInfo = builder.objectRef<Info>('SignInInfo').implement({
  description: 'The fields of a message to sign (EIP-4361; on Solana the same lines).',
  fields: (t) => ({
    domain: t.exposeString('domain', { description: 'Host that the message is for.' }),
    uri: t.exposeString('uri', { description: 'What the message is for; its origin counts.' }),
    version: t.exposeString('version', { description: 'Always `1`.' }),
    nonce: t.exposeString('nonce', { description: 'Fresh; a wallet may as well make up its own.' }),
    issuedAt: t.exposeString('issuedAt', { description: 'Now, as RFC 3339 writes it.' }),
    expirationTime: t.exposeString('expirationTime', { description: 'Five minutes later.' }),
    statement: t.exposeString('statement', { description: 'What the wallet shows; any other does as well.' }),
    resources: t.exposeStringList('resources', { description: 'What the message is about.' }),
  }),
})

const SignInChain = builder.objectRef<SupportedChain>('SignInChain').implement({
  description: 'A chain whose wallets may sign.',
  fields: (t) => ({
    chainId: t.exposeString('chainId', { description: 'CAIP-2 name.' }),
    type: t.exposeString('type', { description: '`eip191`, `eip1271` or `ed25519`.' }),
  }),
})

export const SignInChallengeType = builder.objectRef<SignInChallenge>('SignInChallenge').implement({
  description: 'What a wallet may sign to prove itself.',
  fields: (t) => ({
    info: t.field({ type: SignInInfo, description: 'The fields of the message.', resolve: ({ info }) => info }),
    supportedChains: t.field({
      type: [SignInChain],
      description: 'The chains whose wallets may sign.',
      complexity: { field: 1, multiplier: 3 },
      resolve: ({ supportedChains }) => supportedChains,
    }),
  }),
})

builder.queryField('signInChallenge', (t) =>
  t.field({
    type: SignInChallengeType,
    description: 'A message for a wallet to sign, for `signInWithWallet`. Nothing is stored by asking.',
    resolve: (_root, _args, { services }) => services.wallets.challenges.create('/graphql'),
  }),
)
