import { base58 } from '@scure/base'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseSignInMessage, type SignInMessage } from '../../../../server/domain/wallets/sign-in/sign-in-message.ts'
import {
  CLIENT_ADDRESS,
  createSignInHarness,
  signInOutcome as outcome,
  type SignInHarness,
} from '../../../support/sign-in-harness.ts'
import {
  encode,
  ethersSigner,
  fieldHeader,
  kitSigner,
  naclSigner,
  type SignInOptions,
  signInFields,
  textHeader,
  viemSigner,
  type WalletSigner,
} from '../../../support/wallet-signers.ts'

const signers: [string, () => WalletSigner | Promise<WalletSigner>][] = [
  ['viem', viemSigner],
  ['ethers', ethersSigner],
  ['tweetnacl', naclSigner],
  ['@solana/kit', kitSigner],
]

describe.each(signers)('a wallet of %s', (_name, create) => {
  test.each([
    ['fields', fieldHeader],
    ['the signed text', textHeader],
  ])('signs in by %s', async (_form, header) => {
    const harness = createSignInHarness()
    const signer = await create()
    const caller = await harness.signIn.signIn(await header(signer, { now: harness.clock.now() }), CLIENT_ADDRESS)
    expect(caller).toMatchObject({ kind: 'wallet', walletChain: signer.chain, tier: 'standard' })
    expect(caller.walletAddress).toBe(signer.chain === 'evm' ? signer.address.toLowerCase() : signer.address)
  })

  test.each([
    ['no statement and no expiry', { statement: undefined, expirationTime: undefined }],
    [
      'every field there is',
      { notBefore: '2026-01-15T11:59:00Z', requestId: 'r-1', resources: ['https://a.example/b'] },
    ],
    ['an empty list of resources', { resources: [] }],
    ['the bare origin as URI', { uri: 'http://localhost:3000' }],
    ['a date with an offset and nanoseconds', { issuedAt: '2026-01-15T13:00:00.123456789+01:00' }],
  ] satisfies [string, Partial<SignInMessage>][])('signs in with %s', async (_name, fields) => {
    const harness = createSignInHarness()
    const signer = await create()
    const options = { now: harness.clock.now(), fields }
    expect(await outcome(harness, await fieldHeader(signer, options))).toBe('ok')
    expect(await outcome(harness, await textHeader(signer, options))).toBe('ok')
  })

  test('is accepted once for each signed message, whatever else the header says', async () => {
    const harness = createSignInHarness()
    const signer = await create()
    const fields = signInFields(signer, { now: harness.clock.now() })
    const header = await textHeader(signer, { fields })
    expect(await outcome(harness, header)).toBe('ok')
    expect(await outcome(harness, header)).toBe('NONCE_REUSED')
    expect(await outcome(harness, await textHeader(signer, { fields, json: { timestamp: undefined } }))).toBe(
      'NONCE_REUSED',
    )
    expect(await outcome(harness, await fieldHeader(signer, { fields }))).toBe('NONCE_REUSED')
    const other = { ...fields, statement: 'Something else' }
    expect(await outcome(harness, await textHeader(signer, { fields: other }))).toBe('NONCE_REUSED')
  })

  test('is accepted once if ten copies arrive at the same time', async () => {
    const harness = createSignInHarness()
    const header = await fieldHeader(await create(), { now: harness.clock.now() })
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => outcome(harness, header)))
    expect(outcomes.toSorted()).toEqual([...Array.from({ length: 9 }, () => 'NONCE_REUSED'), 'ok'])
  })

  test.each([
    ['5 minutes after its issue', -300_000, 'ok'],
    ['later than 5 minutes after its issue', -300_001, 'EXPIRED'],
    ['30 s before its issue', 30_000, 'ok'],
    ['more than 30 s before its issue', 30_001, 'FUTURE_TIMESTAMP'],
  ])('%s: %s', async (_name, offsetMs, expected) => {
    const harness = createSignInHarness()
    const now = new Date(harness.clock.nowMs() + offsetMs)
    const header = await fieldHeader(await create(), { now, fields: { expirationTime: undefined } })
    expect(await outcome(harness, header)).toBe(expected)
  })

  test('a signature by another wallet uses up no nonce of the victim', async () => {
    const harness = createSignInHarness()
    const [victim, thief] = [await create(), await create()]
    const fields = signInFields(victim, { now: harness.clock.now() })
    expect(await outcome(harness, await fieldHeader({ ...victim, sign: thief.sign }, { fields }))).toBe(
      'INVALID_SIGNATURE',
    )
    expect(await outcome(harness, await fieldHeader(victim, { fields }))).toBe('ok')
  })
})

describe('one account for each wallet', () => {
  test('an EVM wallet is one account whatever the case of its address', async () => {
    const harness = createSignInHarness()
    const signer = viemSigner()
    const now = harness.clock.now()
    const mixed = await harness.signIn.signIn(await fieldHeader(signer, { now }), CLIENT_ADDRESS)
    const lower = await fieldHeader(signer, { now, json: { address: signer.address.toLowerCase() } })
    expect(await harness.signIn.signIn(lower, CLIENT_ADDRESS)).toEqual(mixed)
  })

  test('the account is derived, with the version of its form', async () => {
    const harness = createSignInHarness()
    const caller = await harness.signIn.signIn(
      await fieldHeader(naclSigner(), { now: harness.clock.now() }),
      CLIENT_ADDRESS,
    )
    expect(caller.accountId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  })

  test('has settings that are read once for many sign-ins, and again after a change', async () => {
    const harness = createSignInHarness()
    const signer = naclSigner()
    const signIn = async () =>
      harness.signIn.signIn(await fieldHeader(signer, { now: harness.clock.now() }), CLIENT_ADDRESS)
    const { accountId } = await signIn()
    await signIn()
    expect(harness.settings.reads).toBe(1)
    harness.settings.current = { accountId, tier: 'partner', suspended: false, limitOverrides: null }
    harness.events.announce({ kind: 'account-changed', id: accountId })
    expect((await signIn()).tier).toBe('partner')
    harness.settings.current = { accountId, tier: 'partner', suspended: true, limitOverrides: null }
    harness.events.announce({ kind: 'account-changed', id: accountId })
    await expect(signIn()).rejects.toMatchObject({ code: 'forbidden' })
  })
})

const evm = viemSigner()
const solana = naclSigner()
const HIGH = String.fromCharCode(1)

interface Vector {
  signer?: WalletSigner
  options: SignInOptions
  code: string
}

const FIELD_VECTORS: [string, Vector][] = [
  ['another domain', { options: { fields: { domain: 'evil.example' } }, code: 'DOMAIN_MISMATCH' }],
  ['the domain without its port', { options: { fields: { domain: 'localhost' } }, code: 'DOMAIN_MISMATCH' }],
  ['a foreign URI', { options: { fields: { uri: 'http://evil.example/api' } }, code: 'DOMAIN_MISMATCH' }],
  [
    'a URI with our host as its user',
    { options: { fields: { uri: 'http://localhost:3000@evil.example/' } }, code: 'DOMAIN_MISMATCH' },
  ],
  ['another scheme', { options: { fields: { uri: 'https://localhost:3000/' } }, code: 'DOMAIN_MISMATCH' }],
  ['no URI at all', { options: { fields: { uri: 'nonsense' } }, code: 'DOMAIN_MISMATCH' }],
  ['version 2', { options: { fields: { version: '2' } }, code: 'INVALID_MESSAGE' }],
  ['no nonce', { options: { fields: { nonce: undefined } }, code: 'MISSING_NONCE' }],
  ['a short nonce', { options: { fields: { nonce: 'abc' } }, code: 'INVALID_MESSAGE' }],
  ['a nonce with other characters', { options: { fields: { nonce: 'abcdefgh-1' } }, code: 'INVALID_MESSAGE' }],
  ['a year as its date', { options: { fields: { issuedAt: '2026' } }, code: 'INVALID_MESSAGE' }],
  ['a date without a zone', { options: { fields: { issuedAt: '2026-01-15T12:00:00' } }, code: 'INVALID_MESSAGE' }],
  ['a 13th month', { options: { fields: { issuedAt: '2026-13-15T12:00:00Z' } }, code: 'INVALID_MESSAGE' }],
  ['an expiry that passed', { options: { fields: { expirationTime: '2026-01-15T12:00:00Z' } }, code: 'EXPIRED' }],
  ['an expiry that is no date', { options: { fields: { expirationTime: 'tomorrow' } }, code: 'INVALID_MESSAGE' }],
  ['a not-before to come', { options: { fields: { notBefore: '2026-01-15T12:00:31Z' } }, code: 'NOT_BEFORE' }],
  ['another EVM chain', { options: { json: { chainId: 'eip155:1' } }, code: 'UNSUPPORTED_CHAIN' }],
  ['a chain id with a leading zero', { options: { json: { chainId: 'eip155:08453' } }, code: 'UNSUPPORTED_CHAIN' }],
  [
    'a chain id with a tail',
    {
      signer: solana,
      options: { json: { chainId: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp:junk' } },
      code: 'INVALID_CHAIN_ID',
    },
  ],
  ['a chain id that is none', { options: { json: { chainId: 'base' } }, code: 'INVALID_CHAIN_ID' }],
  ['the type of the other chain', { options: { json: { type: 'ed25519' } }, code: 'CHAIN_MISMATCH' }],
  [
    'the type of the other chain on Solana',
    { signer: solana, options: { json: { type: 'eip191' } }, code: 'CHAIN_MISMATCH' },
  ],
  ['a scheme of the other chain', { options: { json: { signatureScheme: 'siws' } }, code: 'CHAIN_MISMATCH' }],
  ['an unknown type', { options: { json: { type: 'rsa' } }, code: 'INVALID_PAYLOAD' }],
  ['an address of the other chain', { options: { json: { address: solana.address } }, code: 'CHAIN_MISMATCH' }],
  ['an address that is none', { options: { json: { address: '0x1234' } }, code: 'INVALID_WALLET' }],
  ['no address', { options: { json: { address: undefined } }, code: 'INVALID_PAYLOAD' }],
  ['another address', { options: { json: { address: viemSigner().address } }, code: 'INVALID_SIGNATURE' }],
  [
    'a folded Solana address',
    { signer: solana, options: { json: { address: solana.address.toLowerCase() } }, code: 'INVALID' },
  ],
  ['a line feed in its statement', { options: { fields: { statement: 'a\nURI: http://x' } }, code: 'INVALID_PAYLOAD' }],
  [
    'a line feed in its request id',
    { signer: solana, options: { fields: { requestId: 'a\nResources:' } }, code: 'INVALID_PAYLOAD' },
  ],
  [
    'a control character in its statement',
    { options: { fields: { statement: `a${HIGH}b` } }, code: 'INVALID_PAYLOAD' },
  ],
  [
    'a line feed in a resource',
    { options: { fields: { resources: ['https://a.example\n- b'] } }, code: 'INVALID_PAYLOAD' },
  ],
  [
    'a line separator in its statement',
    { options: { fields: { statement: `a${String.fromCharCode(0x2028)}b` } }, code: 'INVALID_PAYLOAD' },
  ],
  [
    'letters that are shown backwards',
    { signer: solana, options: { fields: { statement: `a${String.fromCharCode(0x202e)}b` } }, code: 'INVALID_PAYLOAD' },
  ],
  [
    'half a letter, which has no bytes of its own',
    { signer: solana, options: { fields: { statement: `a${String.fromCharCode(0xd800)}` } }, code: 'INVALID_PAYLOAD' },
  ],
  [
    'a domain that only looks like ours',
    { signer: solana, options: { fields: { domain: 'l\u043ecalhost:3000' } }, code: 'DOMAIN_MISMATCH' },
  ],
  ['more text than the limit', { options: { fields: { statement: 'a'.repeat(2_000) } }, code: 'INVALID_MESSAGE' }],
  [
    'many resources',
    {
      options: { fields: { resources: Array.from({ length: 21 }, () => 'https://a.example') } },
      code: 'INVALID_PAYLOAD',
    },
  ],
  ['an empty statement', { options: { fields: { statement: '' } }, code: 'INVALID_PAYLOAD' }],
  ['no signature', { options: { json: { signature: undefined } }, code: 'INVALID_PAYLOAD' }],
  ['a signature that is no hexadecimal', { options: { json: { signature: 'hello' } }, code: 'INVALID_SIGNATURE' }],
  ['a signature of zeros', { options: { json: { signature: `0x${'00'.repeat(65)}` } }, code: 'INVALID_SIGNATURE' }],
  ['a signature that is too short', { options: { json: { signature: '0x1234' } }, code: 'INVALID_SIGNATURE' }],
  [
    'a Solana signature of zeros',
    { signer: solana, options: { json: { signature: '1'.repeat(64) } }, code: 'INVALID_SIGNATURE' },
  ],
  [
    'a Solana signature in hexadecimal',
    { signer: solana, options: { json: { signature: `0x${'ab'.repeat(64)}` } }, code: 'INVALID_SIGNATURE' },
  ],
]

test.each(FIELD_VECTORS)('a message with %s is rejected', async (_name, { signer = evm, options, code }) => {
  const harness = createSignInHarness()
  const header = await fieldHeader(signer, { now: harness.clock.now(), ...options })
  expect(await outcome(harness, header)).toContain(code)
})

const TEXT_VECTORS: [string, { change?: (text: string) => string; json?: Record<string, unknown>; code: string }][] = [
  ['something in front', { change: (text) => `x\n${text}`, code: 'PARSE_ERROR' }],
  ['a line feed at its end', { change: (text) => `${text}\n`, code: 'PARSE_ERROR' }],
  [
    'a second nonce line',
    { change: (text) => text.replace('\nIssued', '\nNonce: abcdefgh\nIssued'), code: 'PARSE_ERROR' },
  ],
  ['a carriage return', { change: (text) => text.replace('\nURI', '\r\nURI'), code: 'INVALID_PAYLOAD' }],
  ['no nonce line', { change: (text) => text.replace(/Nonce: .*\n/, ''), code: 'MISSING_NONCE' }],
  [
    'an address in lower case',
    { change: (text) => text.replace(evm.address, evm.address.toLowerCase()), code: 'PARSE_ERROR' },
  ],
  [
    'another address',
    {
      change: (text) => text.replace(evm.address, '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'),
      code: 'ADDRESS_MISMATCH',
    },
  ],
  [
    'a hexadecimal chain id',
    { change: (text) => text.replace('Chain ID: 8453', 'Chain ID: 0x2105'), code: 'INVALID_CHAIN_ID' },
  ],
  ['another chain id', { change: (text) => text.replace('Chain ID: 8453', 'Chain ID: 1'), code: 'UNSUPPORTED_CHAIN' }],
  ['the wrong family', { change: (text) => text.replace('Ethereum', 'Solana'), code: 'CHAIN_MISMATCH' }],
  [
    'a chain id of the other family beside it',
    { json: { chainId: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp' }, code: 'CHAIN_MISMATCH' },
  ],
  ['a time beside it that differs', { json: { timestamp: 0 }, code: 'TIMESTAMP_MISMATCH' }],
  ['a time beside it that is no number', { json: { timestamp: 'now' }, code: 'INVALID_PAYLOAD' }],
  ['spaces that the grammar lacks', { change: (text) => text.replace('URI: ', 'URI:  '), code: 'PARSE_ERROR' }],
]

test.each(TEXT_VECTORS)('a signed text with %s is rejected', async (_name, { change, json, code }) => {
  const harness = createSignInHarness()
  const now = harness.clock.now()
  const fields = signInFields(evm, { now })
  const { formatSignInMessage } = await import('../../../../server/domain/wallets/sign-in/sign-in-message.ts')
  const text = (change ?? String)(formatSignInMessage(fields))
  expect(await outcome(harness, await textHeader(evm, { fields, text, ...(json === undefined ? {} : { json }) }))).toBe(
    code,
  )
})

test.each([
  ['nothing', ''],
  ['no Base64', '{"a":1}'],
  ['the URL alphabet of Base64', 'eyJ-_w'],
  ['no JSON', Buffer.from('hello').toString('base64')],
  ['no UTF-8', Buffer.from([0xff, 0xfe]).toString('base64')],
  ['a list', encode([])],
  ['null', encode(null)],
  ['deep nesting', Buffer.from('['.repeat(5_000)).toString('base64')],
  ['nested fields', encode({ message: { message: {} } })],
  ['more than 8 KB', encode({ message: 'x'.repeat(9_000) })],
])('a header of %s is rejected', async (_name, header) => {
  expect(await outcome(createSignInHarness(), header)).toBe('INVALID_PAYLOAD')
})

test('a header with any content fails only with documented codes', async () => {
  const harness = createSignInHarness()
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        fc.string(),
        fc.json().map((json) => Buffer.from(json).toString('base64')),
      ),
      async (header) => {
        expect(await outcome(harness, header)).not.toBe('ok')
      },
    ),
  )
})

test('a parsed text never holds a field of another line', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (statement, nonce) => {
      const text = `a wants you to sign in with your Solana account:\nb\n\n${statement}\n\nURI: c\nVersion: 1\nChain ID: d\nNonce: ${nonce}\nIssued At: e`
      const parsed = parseSignInMessage(text)
      expect(parsed === undefined || !`${parsed.statement}${parsed.nonce}`.includes('\n')).toBe(true)
    }),
  )
})

describe('keys of small order', () => {
  const Y = [
    '0000000000000000000000000000000000000000000000000000000000000000',
    '0100000000000000000000000000000000000000000000000000000000000000',
    'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
    '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
    'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
    'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
    'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  ]
  const keys = Y.flatMap((hex) => {
    const key = Buffer.from(hex, 'hex')
    const negative = Buffer.from(key)
    negative[31] = (negative[31] ?? 0) | 0x80
    return [key, negative]
  })

  test('sign nobody in', async () => {
    const harness = createSignInHarness()
    for (const key of keys) {
      const forged = Buffer.concat([Buffer.from(`01${'00'.repeat(31)}`, 'hex'), Buffer.alloc(32)])
      const signer = { chain: 'solana', address: base58.encode(key), sign: async () => base58.encode(forged) } as const
      expect(await outcome(harness, await fieldHeader(signer, { now: harness.clock.now() }))).toBe('INVALID_WALLET')
    }
  })
})

describe('a failing client', () => {
  const wrong = async (harness: SignInHarness) =>
    fieldHeader({ ...viemSigner(), sign: viemSigner().sign }, { now: harness.clock.now() })

  test('is blocked by address, without blocking the wallet that it names', async () => {
    const harness = createSignInHarness({ failuresMax: 3 })
    const victim = viemSigner()
    const forge = async () => fieldHeader({ ...victim, sign: viemSigner().sign }, { now: harness.clock.now() })
    for (let failure = 0; failure < 4; failure++) await outcome(harness, await forge())
    expect(await outcome(harness, await forge())).toBe('abuse_blocked')
    const own = await fieldHeader(victim, { now: harness.clock.now() })
    expect(await outcome(harness, own, '198.51.100.7')).toBe('ok')
  })

  test('does not block a wallet that signed in from the same address before', async () => {
    const harness = createSignInHarness({ failuresMax: 3 })
    const neighbour = viemSigner()
    const signIn = async () => outcome(harness, await fieldHeader(neighbour, { now: harness.clock.now() }))
    expect(await signIn()).toBe('ok')
    for (let failure = 0; failure < 4; failure++) await outcome(harness, await wrong(harness))
    expect(await outcome(harness, await wrong(harness))).toBe('abuse_blocked')
    expect(await signIn()).toBe('ok')
  })

  test('blocks its own wallet after failures of signed-in requests', async () => {
    const harness = createSignInHarness({ failuresMax: 3 })
    const signer = viemSigner()
    for (let failure = 0; failure < 4; failure++) {
      harness.abuseGuard.recordFailure(`wallet:${signer.address.toLowerCase()}`)
    }
    expect(await outcome(harness, await fieldHeader(signer, { now: harness.clock.now() }))).toBe('abuse_blocked')
  })
})

test('a nonce is kept for longer than any process, its clock a little apart, may take the message', async () => {
  const kept: number[] = []
  const claim = async (_key: string, ttlMs: number): Promise<boolean> => kept.push(ttlMs) > 0
  const harness = createSignInHarness({ nonces: { claim } })
  expect(await outcome(harness, await fieldHeader(viemSigner(), { now: harness.clock.now() }))).toBe('ok')
  // 5 minutes back, 30 s ahead, and a minute for the clocks.
  expect(kept).toEqual([390_000])
})

test('an unavailable store of nonces signs nobody in, and blames nobody', async () => {
  const nonces = { claim: () => Promise.reject(new Error('lost')) }
  const harness = createSignInHarness({ nonces, failuresMax: 1 })
  const header = await fieldHeader(viemSigner(), { now: harness.clock.now() })
  for (let attempt = 0; attempt < 3; attempt++) expect(await outcome(harness, header)).toBe('unavailable')
})

test('a rejection that time resolves is not cached', async () => {
  const harness = createSignInHarness()
  const now = new Date(harness.clock.nowMs() + 31_000)
  const header = await fieldHeader(viemSigner(), { now })
  expect(await outcome(harness, header)).toBe('FUTURE_TIMESTAMP')
  harness.clock.advance(2_000)
  expect(await outcome(harness, header)).toBe('ok')
})
