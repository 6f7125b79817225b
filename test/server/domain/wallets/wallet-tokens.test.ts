import { createHmac } from 'node:crypto'
import { SignJWT, UnsecuredJWT } from 'jose'
import { describe, expect, test } from 'vitest'
import type { WalletCaller } from '../../../../server/domain/caller.ts'
import { createIdSource } from '../../../../server/domain/ids.ts'
import { WalletSessions } from '../../../../server/domain/wallets/sign-in/wallet-session.ts'
import type { WalletAddress } from '../../../../server/domain/wallets/wallet-address.ts'
import { Web3KeyTokens } from '../../../../server/domain/wallets/web3-key-token.ts'
import { createFakeClock } from '../../../support/fake-clock.ts'

const ORIGIN = 'https://api.example.com'
const PEPPER = 'a pepper of this test'
const WALLET: WalletAddress = { chain: 'evm', address: `0x${'ab'.repeat(20)}` }

const clock = createFakeClock()
const callerOf = async ({ chain, address }: WalletAddress): Promise<WalletCaller> => ({
  kind: 'wallet',
  accountId: 'account',
  keyId: null,
  tier: 'standard',
  modelPrivacy: 'ALL',
  walletChain: chain,
  walletAddress: address,
})
const revoked = new Map<string, Date>()
const repository = {
  revoke: async (id: string, expiresAt: Date) => void revoked.set(id, expiresAt),
  isRevoked: async (id: string) => revoked.has(id),
  deleteExpired: async () => {},
}
const events = { announce: () => {} }
const create = ({ origin = ORIGIN, pepper = PEPPER } = {}) => {
  const parts = { origin, pepper, clock, ids: createIdSource(clock) }
  return {
    sessions: new WalletSessions({ ...parts, lifetimeSeconds: 3_600, accounts: { callerOf }, repository, events }),
    web3: new Web3KeyTokens(parts),
  }
}
const { sessions, web3 } = create()
const sessionOf = async (made = sessions) => (await made.issue(await callerOf(WALLET))).sessionToken

/** A session in every part as the service makes it, signed by whoever knows the key. */
const forged = () =>
  new SignJWT({ chain: 'evm', sub: WALLET.address })
    .setIssuer(ORIGIN)
    .setAudience('graphql')
    .setIssuedAt(clock.now())
    .setExpirationTime(new Date(clock.nowMs() + 60_000))
    .setJti(createIdSource(clock).uuid())
const keyOf = (use: string) => createHmac('sha256', PEPPER).update(use).digest()

describe('a session of a wallet', () => {
  test('opens with the token that was issued', async () => {
    const { caller } = await sessions.open(await sessionOf())
    expect(caller.walletAddress).toBe(WALLET.address)
    const made = await forged().setProtectedHeader({ alg: 'HS256' }).sign(keyOf('wallet sessions'))
    expect((await sessions.open(made)).caller).toEqual(caller)
  })

  test.each<[string, () => Promise<string>]>([
    ['without a signature', async () => new UnsecuredJWT({ chain: 'evm', sub: WALLET.address }).encode()],
    [
      'by another algorithm of the same key',
      () => forged().setProtectedHeader({ alg: 'HS512' }).sign(keyOf('wallet sessions')),
    ],
    ['by the key of web3 tokens', () => forged().setProtectedHeader({ alg: 'HS256' }).sign(keyOf('web3 key tokens'))],
    [
      'for another audience',
      () => forged().setAudience('web3-key').setProtectedHeader({ alg: 'HS256' }).sign(keyOf('wallet sessions')),
    ],
    ['of another origin with the same pepper', () => sessionOf(create({ origin: 'https://evil.example' }).sessions)],
    ['of another pepper', () => sessionOf(create({ pepper: 'another one' }).sessions)],
    [
      'that names no session',
      () => forged().setJti('').setProtectedHeader({ alg: 'HS256' }).sign(keyOf('wallet sessions')),
    ],
    ['that is a token for a web3 key', () => web3.issue()],
    ['with another wallet in it', async () => swapped(await sessionOf())],
  ])('does not open with a token %s', async (_, make) => {
    await expect(sessions.open(await make())).rejects.toMatchObject({ code: 'unauthenticated' })
  })
})

test('a session gives no key where a token for one is required', async () => {
  await expect(web3.read(await sessionOf())).rejects.toMatchObject({ code: 'invalid_request' })
  expect(await web3.read(await web3.issue())).toMatch(/^[0-9a-f-]{36}$/)
})

function swapped(token: string): string {
  const [header, payload = '', signature] = token.split('.')
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object
  const other = JSON.stringify({ ...claims, sub: `0x${'cd'.repeat(20)}` })
  return [header, Buffer.from(other).toString('base64url'), signature].join('.')
}
