import type { SignInChallenge } from '../../server/domain/wallets/sign-in/sign-in-challenge.ts'
import { builder } from '../builder.ts'

type Info = SignInChallenge['info']
type SupportedChain = SignInChallenge['supportedChains'][number]

const SignInInfo = builder.objectRef<Info>('SignInInfo').implement({
  description: 'The fields of a message to sign (EIP-4361; the same lines on Solana).',
  fields: (t) => ({
    domain: t.exposeString('domain', { description: 'Host that the message is for.' }),
    uri: t.exposeString('uri', { description: 'The URI that the message is for; only its origin is checked.' }),
    version: t.exposeString('version', { description: 'Always `1`.' }),
    nonce: t.exposeString('nonce', { description: 'A new nonce; a wallet may also create its own.' }),
    issuedAt: t.exposeString('issuedAt', { description: 'The current time in RFC 3339.' }),
    expirationTime: t.exposeString('expirationTime', { description: 'Five minutes after `issuedAt`.' }),
    statement: t.exposeString('statement', {
      description: 'The text that the wallet shows; any other text is accepted too.',
    }),
    resources: t.exposeStringList('resources', { description: 'The resources that the message is about.' }),
  }),
})

const SignInChain = builder.objectRef<SupportedChain>('SignInChain').implement({
  description: 'A chain whose wallets can sign in.',
  fields: (t) => ({
    chainId: t.exposeString('chainId', { description: 'CAIP-2 name.' }),
    type: t.exposeString('type', { description: '`eip191`, `eip1271` or `ed25519`.' }),
  }),
})

export const SignInChallengeType = builder.objectRef<SignInChallenge>('SignInChallenge').implement({
  description: 'A message that a wallet can sign to prove its identity.',
  fields: (t) => ({
    info: t.field({ type: SignInInfo, description: 'The fields of the message.', resolve: ({ info }) => info }),
    supportedChains: t.field({
      type: [SignInChain],
      description: 'The chains whose wallets can sign in.',
      complexity: { field: 1, multiplier: 3 },
      resolve: ({ supportedChains }) => supportedChains,
    }),
  }),
})

builder.queryField('signInChallenge', (t) =>
  t.field({
    type: SignInChallengeType,
    description: 'A message for a wallet to sign, for `signInWithWallet`. This query stores nothing.',
    resolve: (_root, _args, { services }) => services.wallets.challenges.create('/graphql'),
  }),
)
