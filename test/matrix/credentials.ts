import { createApiKeySecret } from '../../server/domain/api-keys/api-key-secret.ts'
import { createIdSource } from '../../server/domain/ids.ts'
import { NAMED_OPERATOR_TOKEN, OPERATOR_TOKEN } from '../support/app.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { fieldHeader } from '../support/wallet-signers.ts'
import type { Scene } from './scene.ts'

/** Everything that somebody may send to say who he is. */
export const CREDENTIALS = [
  'none',
  'malformed',
  'badChecksum',
  'unknown',
  'expired',
  'revoked',
  'suspended',
  'inference',
  'admin',
  'foreignAdmin',
  'wallet',
  'otherWallet',
  'session',
  'operator',
  'namedOperator',
] as const
export type CredentialName = (typeof CREDENTIALS)[number]

type Headers = Record<string, string>

/** The headers of a credential; a wallet signs each request afresh. */
export async function headersOf(name: CredentialName, scene: Scene): Promise<Headers> {
  return HEADERS[name](scene)
}

const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` })

const HEADERS: Record<CredentialName, (scene: Scene) => Headers | Promise<Headers>> = {
  none: () => ({}),
  malformed: () => ({ authorization: 'Basic dXNlcjpwYXNz' }),
  badChecksum: ({ owner }) => bearer(owner.adminKey.slice(0, -1) + (owner.adminKey.endsWith('0') ? '1' : '0')),
  unknown: () => {
    const ids = createIdSource(createFakeClock())
    return bearer(createApiKeySecret('ADMIN', { prefix: 'service', ids }))
  },
  expired: ({ ended }) => bearer(ended.expired),
  revoked: ({ ended }) => bearer(ended.revoked),
  suspended: ({ ended }) => bearer(ended.suspended),
  inference: ({ owner }) => bearer(owner.inferenceKey),
  admin: ({ owner }) => bearer(owner.adminKey),
  foreignAdmin: ({ stranger }) => bearer(stranger.adminKey),
  wallet: async ({ wallet }) => ({ 'sign-in-with-x': await fieldHeader(wallet.signer) }),
  otherWallet: async ({ otherWallet }) => ({ 'sign-in-with-x': await fieldHeader(otherWallet.signer) }),
  session: ({ wallet }) => bearer(wallet.sessionToken),
  operator: () => bearer(OPERATOR_TOKEN),
  namedOperator: () => bearer(NAMED_OPERATOR_TOKEN),
}

export type Verdicts = Record<CredentialName, string>

/** One verdict for everybody, but for those that are named. */
export function verdicts(everybody: string, others: Partial<Verdicts> = {}): Verdicts {
  const all = Object.fromEntries(CREDENTIALS.map((name) => [name, everybody])) as Verdicts
  return { ...all, ...others }
}

/** What is no credential of an account, where one is read. */
export const WRONG = ['malformed', 'badChecksum', 'unknown', 'expired', 'revoked', 'operator', 'namedOperator'] as const

export function each(names: readonly CredentialName[], verdict: string): Partial<Verdicts> {
  return Object.fromEntries(names.map((name) => [name, verdict]))
}
