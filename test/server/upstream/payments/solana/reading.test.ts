import {
  AccountRole,
  type Address,
  address,
  generateKeyPairSigner,
  getBase64Codec,
  type KeyPairSigner,
} from '@solana/kit'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { DomainError } from '../../../../../server/domain/errors.ts'
import type { PaymentNetwork, SignedPayment } from '../../../../../server/domain/payments/payment-network.ts'
import { repeats } from '../../../../support/soak.ts'
import {
  createSolanaPayer,
  SOLANA_FACILITATOR_ADDRESS,
  SOLANA_MERCHANT_ADDRESS,
  SOLANA_NETWORK,
  type SolanaChain,
  startSolanaChain,
  TOKEN_PROGRAM,
  tokenAccountOf,
  USDC_MINT,
} from '../../../../support/solana-chain.ts'
import { memoInstruction, type SolanaPaymentOptions, signSolanaPayment } from '../../../../support/solana-payments.ts'
import { createSolanaTestNetwork } from '../../../../support/solana-test-network.ts'

const BYTES = getBase64Codec()
const LIGHTHOUSE = address('L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95')
const SYSTEM_PROGRAM = address('11111111111111111111111111111111')

let chain: SolanaChain
let network: PaymentNetwork
let payer: KeyPairSigner

beforeAll(async () => {
  chain = await startSolanaChain()
  network = createSolanaTestNetwork(chain)
  payer = await createSolanaPayer(chain)
})
afterAll(() => chain.close())

const read = (payload: unknown, named: { asset?: string; payTo?: string; scheme?: string } = {}): SignedPayment =>
  network.read({ scheme: 'exact', network: SOLANA_NETWORK, asset: null, payTo: null, payload, ...named })

const sign = (options: SolanaPaymentOptions = {}) => signSolanaPayment(chain, payer, options)

function signedMemo() {
  const signing = { address: payer.address, role: AccountRole.READONLY_SIGNER, signer: payer } as const
  return { ...memoInstruction('a'), accounts: [signing] }
}

function codeOf(run: () => unknown): string {
  try {
    run()
    return 'taken'
  } catch (error) {
    return (error as DomainError).code
  }
}

describe('a payment is read when it is the stock transaction and nothing else', () => {
  test('its payer, its amount and its canonical wire form are returned', async () => {
    const payload = await sign({ value: 12_345_678n, memo: 'a' })
    expect(read(payload)).toEqual({
      network: SOLANA_NETWORK,
      payer: { chain: 'solana', address: payer.address },
      asset: USDC_MINT,
      payTo: SOLANA_MERCHANT_ADDRESS,
      amountAtomic: 12_345_678n,
      claimKey: expect.stringMatching(/^[0-9a-f]{64}$/),
      nonceKey: expect.stringMatching(/^[0-9a-f]{64}$/),
      validUntil: null,
      wire: {
        x402Version: 2,
        accepted: {
          scheme: 'exact',
          network: SOLANA_NETWORK,
          amount: '12345678',
          asset: USDC_MINT,
          payTo: SOLANA_MERCHANT_ADDRESS,
          maxTimeoutSeconds: 300,
          extra: { feePayer: SOLANA_FACILITATOR_ADDRESS },
        },
        payload,
      },
    })
  })

  test('up to four memos and wallet assertions may follow the transfer', async () => {
    const assertion = { programAddress: LIGHTHOUSE, accounts: [], data: new Uint8Array([9]) }
    expect(read(await sign({ more: [assertion, assertion, assertion] })).amountAtomic).toBe(5_000_000n)
    const tooMany = await sign({ more: [assertion, assertion, assertion, memoInstruction('b')] })
    expect(codeOf(() => read(tooMany))).toBe('payment_invalid')
  })

  test("the claim is the same for any bytes in the place of the facilitator's signature", async () => {
    const { transaction } = await sign()
    const other = Uint8Array.from(BYTES.encode(transaction))
    other.fill(7, 1, 65)
    const [first, second] = [read({ transaction }), read({ transaction: BYTES.decode(other) })]
    expect(second).toEqual(first)
    expect(read(await sign()).claimKey).not.toBe(first.claimKey)
  })
})

describe('a transaction that could cost the facilitator, or pay another, is rejected:', () => {
  const cases: [string, string, (stranger: Address) => SolanaPaymentOptions | Promise<SolanaPaymentOptions>][] = [
    ['another payee', 'payment_recipient_wrong', (stranger) => ({ payTo: stranger })],
    [
      'the wallet of the payee, not its token account',
      'payment_recipient_wrong',
      () => ({ destination: SOLANA_MERCHANT_ADDRESS }),
    ],
    ['another token', 'payment_token_unsupported', (stranger) => ({ mint: stranger })],
    ['a token that does not count in millionths', 'payment_token_unsupported', () => ({ decimals: 9 })],
    ['no amount', 'payment_amount_invalid', () => ({ value: 0n })],
    ['another fee payer', 'payment_invalid', (stranger) => ({ feePayer: stranger })],
    ['a compute limit that costs', 'payment_invalid', () => ({ computeUnits: 200_001 })],
    ['a compute price above the bound', 'payment_invalid', () => ({ microLamportsPerUnit: 5_000_001n })],
    [
      'a priority fee above the bound',
      'payment_invalid',
      () => ({ computeUnits: 200_000, microLamportsPerUnit: 600_000n }),
    ],
    ['no transfer', 'payment_invalid', () => ({ instead: [signedMemo()] })],
    ['no second signer', 'payment_format_invalid', () => ({ instead: [memoInstruction('a')] })],
    [
      'a second transfer, of SOL out of the facilitator',
      'payment_invalid',
      (stranger) => ({
        more: [
          {
            programAddress: SYSTEM_PROGRAM,
            accounts: [
              { address: SOLANA_FACILITATOR_ADDRESS, role: AccountRole.WRITABLE_SIGNER },
              { address: stranger, role: AccountRole.WRITABLE },
            ],
            data: new Uint8Array([2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]),
          },
        ],
      }),
    ],
    [
      'the fee payer among the accounts of a memo',
      'payment_invalid',
      () => ({
        more: [
          {
            ...memoInstruction('a'),
            accounts: [{ address: SOLANA_FACILITATOR_ADDRESS, role: AccountRole.READONLY_SIGNER }],
          },
        ],
      }),
    ],
  ]
  test.each(cases)('%s: %s', async (_name, code, options) => {
    const stranger = await generateKeyPairSigner()
    const payload = await sign(await options(stranger.address))
    expect(codeOf(() => read(payload))).toBe(code)
  })

  test('a payee that pays itself', async () => {
    const merchant = await generateKeyPairSigner()
    const own = createSolanaTestNetwork(chain, { payTo: merchant.address })
    const payload = await signSolanaPayment(chain, merchant, { payTo: merchant.address })
    const envelope = { scheme: 'exact', network: SOLANA_NETWORK, asset: null, payTo: null, payload }
    expect(codeOf(() => own.read(envelope))).toBe('payment_payer_invalid')
  })

  test('a payer that is not a key, and so could never sign in', async () => {
    const vault = await tokenAccountOf(payer.address)
    const transfer = {
      programAddress: TOKEN_PROGRAM,
      accounts: [
        { address: await tokenAccountOf(vault), role: AccountRole.WRITABLE },
        { address: USDC_MINT, role: AccountRole.READONLY },
        { address: await tokenAccountOf(SOLANA_MERCHANT_ADDRESS), role: AccountRole.WRITABLE },
        { address: vault, role: AccountRole.READONLY },
      ],
      data: Uint8Array.from([12, 0x40, 0x4b, 0x4c, 0, 0, 0, 0, 0, 6]),
    }
    const payload = await sign({ instead: [transfer, signedMemo()] })
    expect(codeOf(() => read(payload))).toBe('payment_payer_invalid')
  })

  test('a signature that is not the payer’s, and any changed byte', async () => {
    const bytes = Uint8Array.from(BYTES.encode((await sign()).transaction))
    const codes = new Set<string>()
    for (let at = 0; at < bytes.length; at++) {
      if (at >= 1 && at < 65) continue
      const changed = Uint8Array.from(bytes)
      changed[at] = (changed[at] ?? 0) ^ 1
      codes.add(codeOf(() => read({ transaction: BYTES.decode(changed) })))
    }
    expect(codes).not.toContain('taken')
    expect([...codes].filter((code) => !code.startsWith('payment_'))).toEqual([])
  })

  test.each([
    ['no object', 'x'],
    ['no transaction', {}],
    ['no text', { transaction: 7 }],
    ['no Base64', { transaction: '*' }],
    ['empty', { transaction: '' }],
    ['an EVM payload', { signature: '0x', authorization: {} }],
    ['a further field', { transaction: 'AA==', extra: true }],
    ['too long', { transaction: 'A'.repeat(4_000) }],
  ])('a payload that is %s', (_name, payload) => {
    expect(codeOf(() => read(payload))).toBe('payment_format_invalid')
  })

  test('any bytes at all, by code and never otherwise', async () => {
    const stock = Buffer.from((await sign()).transaction, 'base64')
    const spliced = fc
      .tuple(fc.nat(stock.length), fc.nat(40), fc.uint8Array({ maxLength: 40 }))
      .map(([at, cut, more]) => Buffer.concat([stock.subarray(0, at), more, stock.subarray(at + cut)]))
      .filter((bytes) => !bytes.subarray(65).equals(stock.subarray(65)) || bytes.length !== stock.length)
    const bytes = fc.oneof(spliced, fc.uint8Array({ maxLength: 1_300 }))
    fc.assert(
      fc.property(bytes, (one) => {
        expect(codeOf(() => read({ transaction: BYTES.decode(one) }))).toMatch(/^payment_/)
      }),
      { numRuns: repeats(500, { soak: 20_000 }) },
    )
  })

  test('an account that it does not have in the place of the payer', async () => {
    const bytes = Buffer.from((await sign()).transaction, 'base64')
    // The transfer's data, 10 bytes that begin with 12, follow its accounts.
    bytes[bytes.indexOf(Buffer.of(10, 12)) - 1] = 8
    expect(codeOf(() => read({ transaction: bytes.toString('base64') }))).toBe('payment_format_invalid')
  })

  test('a trailing byte, which would make another claim of the same transfer', async () => {
    const bytes = [...BYTES.encode((await sign()).transaction), 0]
    expect(codeOf(() => read({ transaction: BYTES.decode(Uint8Array.from(bytes)) }))).toBe('payment_format_invalid')
  })

  test('terms that name another scheme, token or payee than the transaction', async () => {
    const payload = await sign()
    expect(codeOf(() => read(payload, { scheme: 'upto' }))).toBe('payment_scheme_unsupported')
    expect(codeOf(() => read(payload, { asset: SYSTEM_PROGRAM }))).toBe('payment_token_unsupported')
    expect(codeOf(() => read(payload, { payTo: payer.address }))).toBe('payment_recipient_wrong')
    expect(codeOf(() => read(payload, { asset: USDC_MINT, payTo: SOLANA_MERCHANT_ADDRESS }))).toBe('taken')
  })
})
