import { generateKeyPairSync, type KeyObject, randomBytes, sign, verify } from 'node:crypto'
import { base58 } from '@scure/base'
import { verifyMessage } from 'ethers'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { systemClock } from '../../server/domain/clock.ts'
import { formatSignInMessage } from '../../server/domain/wallets/sign-in/sign-in-message.ts'
import { SignInService } from '../../server/domain/wallets/sign-in/sign-in-service.ts'
import { createMemoryClaims } from '../../test/support/memory-claims.ts'
import { judge, type Report, ratioOf } from '../harness/report.ts'
import type { ScenarioOptions } from '../harness/scenario.ts'
import { median } from '../harness/statistics.ts'

const HEADERS = 150
const ORIGIN = 'https://api.example.com'
/** Fills the text up to the limit with input that is slowest to parse. */
const LONG_PATH = 'a/'.repeat(560)
const SOLANA = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp'

interface Signed {
  header: string
  /** The bare signature check, without anything around it. */
  bareCheck: () => unknown
}

/** CPU time of checking one sign-in header, compared with the bare check of its signature in the same round. */
export async function runSiwx({ rounds, signal }: Pick<ScenarioOptions, 'rounds' | 'signal'>): Promise<Report> {
  const figures = new Map<string, number[]>()
  for (let round = -1; round < rounds; round++) {
    signal.throwIfAborted()
    for (const [name, milliseconds] of await measureRound()) {
      // The first round compiles.
      if (round >= 0) figures.set(name, [...(figures.get(name) ?? []), milliseconds])
    }
  }
  const of = (name: string) => figures.get(name) ?? []
  return {
    benchmark: 'siwx',
    title: `checks of sign-in headers, ${HEADERS} of each kind a round, ${rounds} rounds`,
    rows: [...figures].map(([header, values]) => ({
      header,
      'CPU ms': median(values),
      'least CPU ms': Math.min(...values),
    })),
    verdicts: [
      judge('EVM wallet', Math.min(...of('EVM wallet')), { atMost: 5, unit: ' ms' }),
      judge('EVM wallet, longest text', Math.min(...of('EVM wallet, longest text')), { atMost: 5, unit: ' ms' }),
      judge('EVM wallet against ethers.verifyMessage', ratioOf(of('EVM wallet'), of('floor: ethers.verifyMessage')), {
        atMost: 2.5,
      }),
      judge('Solana wallet', Math.min(...of('Solana wallet')), { atMost: 1, unit: ' ms' }),
      judge('repeated header with a wrong signature', Math.min(...of('wrong signature, repeated')), {
        atMost: 0.2,
        unit: ' ms',
      }),
      judge('repeated garbage of 8 KB', Math.min(...of('garbage of 8 KB, repeated')), { atMost: 0.2, unit: ' ms' }),
      judge('fresh garbage of 8 KB', Math.min(...of('garbage of 8 KB')), { atMost: 0.2, unit: ' ms' }),
      judge('fresh message for another service', Math.min(...of('message for another service')), {
        atMost: 1,
        unit: ' ms',
      }),
    ],
    notes: ['Floors check the signature alone. Signing is not part of any figure.'],
  }
}

async function measureRound(): Promise<[string, number][]> {
  const signIn = createSignIn()
  const evm = await Promise.all(Array.from({ length: HEADERS }, () => signByEvm(ORIGIN)))
  const solana = Array.from({ length: HEADERS }, signBySolana)
  const long = await Promise.all(Array.from({ length: HEADERS }, () => signByEvm(ORIGIN, LONG_PATH)))
  const foreign = await Promise.all(Array.from({ length: HEADERS }, () => signByEvm('https://evil.example.com')))
  const garbage = Array.from({ length: HEADERS }, () => randomBytes(6_000).toString('base64'))
  const [wrong] = evm.map(({ header }) => withOtherNonce(header))
  const take = async (headers: readonly string[]): Promise<number> =>
    cpuMsOf(headers, (header) => signIn.signIn(header, '192.0.2.1').catch(() => undefined))
  const repeated = (header = '') => Array.from({ length: HEADERS }, () => header)
  return [
    ['floor: ethers.verifyMessage', await cpuMsOf(evm, ({ bareCheck }) => bareCheck())],
    ['EVM wallet', await take(evm.map(({ header }) => header))],
    ['EVM wallet, longest text', await take(long.map(({ header }) => header))],
    ['floor: Ed25519 by node:crypto', await cpuMsOf(solana, ({ bareCheck }) => bareCheck())],
    ['Solana wallet', await take(solana.map(({ header }) => header))],
    ['message for another service', await take(foreign.map(({ header }) => header))],
    ['garbage of 8 KB', await take(garbage)],
    ['garbage of 8 KB, repeated', await take(repeated(garbage[0]))],
    ['wrong signature', await take(evm.map(({ header }) => withOtherNonce(header)))],
    ['wrong signature, repeated', await take(repeated(wrong))],
  ]
}

function createSignIn(): SignInService {
  return new SignInService({
    origin: ORIGIN,
    nonces: createMemoryClaims(),
    accounts: {
      callerOf: async ({ chain, address }) => ({
        kind: 'wallet',
        accountId: address,
        keyId: null,
        tier: 'standard',
        modelPrivacy: 'ALL',
        walletChain: chain,
        walletAddress: address,
      }),
    },
    abuseGuard: { assertNotBlocked: () => {}, blameAddress: () => {} },
    contractWallets: null,
    clock: systemClock,
  })
}

async function cpuMsOf<Item>(items: readonly Item[], run: (item: Item) => unknown): Promise<number> {
  const before = process.cpuUsage()
  for (const item of items) await run(item)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000 / items.length
}

function fieldsOf(address: string, origin: string, path = 'api/v1/chat/completions') {
  return {
    domain: new URL(origin).host,
    address,
    statement: 'Sign in',
    uri: `${origin}/${path}`,
    version: '1',
    nonce: randomBytes(16).toString('hex'),
    issuedAt: systemClock.now().toISOString(),
    expirationTime: undefined,
    notBefore: undefined,
    requestId: undefined,
    resources: [`${origin}/api/v1`],
  }
}

async function signByEvm(origin: string, path?: string): Promise<Signed> {
  const account = privateKeyToAccount(generatePrivateKey())
  const fields = fieldsOf(account.address, origin, path)
  const text = formatSignInMessage({ ...fields, chain: 'evm', chainId: '8453' })
  const signature = await account.signMessage({ message: text })
  const header = encode({ ...fields, chainId: 'eip155:8453', type: 'eip191', signature })
  return { header, bareCheck: () => verifyMessage(text, signature) }
}

function signBySolana(): Signed {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const address = base58.encode(rawKeyOf(publicKey))
  const fields = fieldsOf(address, ORIGIN)
  const text = Buffer.from(formatSignInMessage({ ...fields, chain: 'solana', chainId: SOLANA }))
  const signature = sign(null, text, privateKey)
  const header = encode({
    ...fields,
    chainId: `solana:${SOLANA}`,
    type: 'ed25519',
    signature: base58.encode(signature),
  })
  return { header, bareCheck: () => verify(null, text, publicKey, signature) }
}

function rawKeyOf(key: KeyObject): Buffer {
  return Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url')
}

/** The signature then belongs to another text. */
function withOtherNonce(header: string): string {
  const fields: object = JSON.parse(Buffer.from(header, 'base64').toString())
  return encode({ ...fields, nonce: randomBytes(16).toString('hex') })
}

function encode(document: object): string {
  return Buffer.from(JSON.stringify(document)).toString('base64')
}
