import type { LocalAccount } from 'viem'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { MERCHANT_ADDRESS } from '../../support/base-chain.ts'
import {
  type AuthorizationOptions,
  baseRequirement,
  cancelAuthorization,
  createFundedPayer,
  createPayer,
  signAsUndeployedWallet,
  signAuthorization,
} from '../../support/base-payments.ts'
import { encodeHeader, PAYMENT_SHAPES, paymentHeader } from '../../support/payment-headers.ts'
import { type PaymentsApp, startPaymentsApp } from '../../support/payments-harness.ts'

const STRANGER = '0x00000000000000000000000000000000000bad00'
const nowSeconds = () => BigInt(Math.floor(Date.now() / 1000))

let app: PaymentsApp
let merchantBefore: bigint
beforeAll(async () => {
  app = await startPaymentsApp({ solana: null, file: { limits: { wallet: { topUpsPerMinutePerIp: 1_000 } } } })
  merchantBefore = await app.base.balanceOf(MERCHANT_ADDRESS)
})
afterEach(async () => {
  expect(await app.base.balanceOf(MERCHANT_ADDRESS)).toBe(merchantBefore)
  const { counts } = await app.server.app.services.payments.operations.status()
  expect(counts.filter(({ state }) => state === 'credited' || state === 'settled')).toEqual([])
})
afterAll(async () => {
  await app.server.assertLedgerClean()
  await app.close()
})

async function refusal(header: string) {
  const response = await app.topUp({ 'PAYMENT-SIGNATURE': header })
  const body = (await response.json()) as { error: string; code: string; message: string; details?: { reason: string } }
  expect(body.code).toBe(body.error)
  expect(body.message).not.toMatch(/127\.0\.0\.1|at .*\.ts/)
  return { status: response.status, code: body.code, reason: body.details?.reason }
}

async function signed(options: AuthorizationOptions, requirement: object = {}, payer?: LocalAccount) {
  const payload = await signAuthorization(payer ?? (await createFundedPayer(app.base, 20_000_000_000n)), options)
  return encodeHeader(PAYMENT_SHAPES.v2({ ...baseRequirement(), ...requirement }, payload))
}

describe('a payment is rejected, with nothing settled and nothing credited, when', () => {
  it.each<[string, AuthorizationOptions, object, number, string]>([
    ['it is one base unit short of the minimum', { value: 4_999_999n }, {}, 400, 'AMOUNT_TOO_LOW'],
    ['it is one base unit above the maximum', { value: 10_000_000_001n }, {}, 400, 'AMOUNT_TOO_HIGH'],
    ['it is for another payee', { to: STRANGER }, {}, 400, 'INVALID_PAYMENT_RECIPIENT'],
    ['it names another payee', {}, { payTo: STRANGER }, 400, 'INVALID_PAYMENT_RECIPIENT'],
    ['it names another asset', {}, { asset: STRANGER }, 400, 'UNSUPPORTED_TOKEN'],
    ['it is on another network', {}, { network: 'eip155:1' }, 400, 'UNSUPPORTED_NETWORK'],
    ['it is of another scheme', {}, { scheme: 'upto' }, 400, 'UNSUPPORTED_SCHEME'],
    ['it has expired', { validBefore: nowSeconds() - 10n }, {}, 400, 'PAYMENT_VERIFICATION_FAILED'],
    ['it is not valid yet', { validAfter: nowSeconds() + 600n }, {}, 400, 'PAYMENT_VERIFICATION_FAILED'],
    ['it is signed for another chain', { domain: { chainId: 1 } }, {}, 400, 'PAYMENT_VERIFICATION_FAILED'],
    [
      'it is signed for another contract',
      { domain: { verifyingContract: STRANGER } },
      {},
      400,
      'PAYMENT_VERIFICATION_FAILED',
    ],
  ])('%s', async (_, options, requirement, status, code) => {
    expect(await refusal(await signed(options, requirement))).toMatchObject({ status, code })
  })

  it('the payer has no funds; with funds the same payment is taken', async () => {
    const payer = createPayer()
    const header = await signed({}, {}, payer)
    expect(await refusal(header)).toEqual({
      status: 400,
      code: 'PAYMENT_VERIFICATION_FAILED',
      reason: 'invalid_exact_evm_insufficient_balance',
    })
  })

  it('another key signed it', async () => {
    const victim = await createFundedPayer(app.base)
    const payload = await signAuthorization(createPayer(), { from: victim.address })
    const header = encodeHeader(PAYMENT_SHAPES.v2(baseRequirement(), payload))
    expect(await refusal(header)).toMatchObject({ code: 'PAYMENT_VERIFICATION_FAILED' })
  })

  it('the merchant would pay itself', async () => {
    const payload = await signAuthorization(createPayer(), { from: MERCHANT_ADDRESS })
    const header = encodeHeader(PAYMENT_SHAPES.v2(baseRequirement(), payload))
    expect(await refusal(header)).toMatchObject({ status: 400, code: 'INVALID_PAYMENT_PAYER' })
  })

  it('the payer cancelled it', async () => {
    const payer = await createFundedPayer(app.base)
    const payload = await signAuthorization(payer)
    await cancelAuthorization(app.base, payer, payload.authorization.nonce)
    const header = encodeHeader(PAYMENT_SHAPES.v2(baseRequirement(), payload))
    expect(await refusal(header)).toEqual({ status: 402, code: 'SETTLEMENT_FAILED', reason: 'authorization_canceled' })
    expect(await refusal(header)).toMatchObject({ status: 402, code: 'SETTLEMENT_FAILED' })
  })

  it('the wallet is not deployed yet and its factory was not allowed', async () => {
    const payload = await signAsUndeployedWallet(app.base, createPayer())
    await app.base.fund(payload.authorization.from, 20_000_000n)
    const header = encodeHeader(PAYMENT_SHAPES.v2(baseRequirement(), payload))
    expect(await refusal(header)).toMatchObject({ status: 400, reason: 'eip6492_factory_not_allowed' })
  })

  it.each([
    ['is no Base64', '{"x402Version":2}', 'INVALID_PAYMENT_FORMAT'],
    ['is no JSON', encodeHeader('nonsense'), 'INVALID_PAYMENT_FORMAT'],
    ['is a JSON null', encodeHeader('null'), 'INVALID_PAYMENT_FORMAT'],
    ['holds no payload', encodeHeader({ x402Version: 2, accepted: baseRequirement() }), 'INVALID_PAYMENT_FORMAT'],
    [
      'is of version 3',
      encodeHeader({ x402Version: 3, accepted: baseRequirement(), payload: {} }),
      'INVALID_PAYMENT_FORMAT',
    ],
    ['is longer than 8 KB', 'A'.repeat(8_196), 'INVALID_PAYMENT_FORMAT'],
    [
      'is a Permit2 payment',
      encodeHeader(
        PAYMENT_SHAPES.v2(baseRequirement(), { signature: `0x${'1'.repeat(130)}`, permit2Authorization: {} }),
      ),
      'INVALID_PAYMENT',
    ],
  ])('the header %s', async (_, header, code) => {
    expect(await refusal(header)).toMatchObject({ status: 400, code })
  })

  it('the route accepts no payments', async () => {
    const headers = paymentHeader(baseRequirement(), await signAuthorization(await createFundedPayer(app.base)))
    for (const path of ['/models', '/api_keys', '/x402/balance/0x00000000000000000000000000000000000000aa']) {
      const response = await fetch(`${app.server.baseUrl}${path}`, { headers })
      expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([
        400,
        'PAYMENT_HEADER_NOT_ACCEPTED',
      ])
    }
  })
})
