import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DomainError } from '../../../../../server/domain/errors.ts'
import type { PaymentEnvelope } from '../../../../../server/domain/payments/payment-envelope.ts'
import { readPaymentHeader } from '../../../../../server/domain/payments/payment-header.ts'
import type { PaymentRequirement } from '../../../../../server/domain/payments/payment-network.ts'
import {
  readEvmClaimKey,
  readEvmPayment as readWithin,
} from '../../../../../server/upstream/payments/evm/evm-payment.ts'
import { MERCHANT_ADDRESS } from '../../../../support/base-chain.ts'
import { baseRequirement, createPayer, signAuthorization } from '../../../../support/base-payments.ts'
import { textualVariants } from '../../../../support/payment-headers.ts'

const TERMS: PaymentRequirement = { ...baseRequirement('0'), scheme: 'exact' }
const NOW = new Date('2026-03-01T12:00:00.000Z')
const FAR_SECONDS = 2 ** 41
const readEvmPayment = (envelope: PaymentEnvelope, terms: PaymentRequirement) =>
  readWithin(envelope, terms, { now: NOW, maxValiditySeconds: FAR_SECONDS })
const enveloped = (payload: unknown) => ({ scheme: 'exact', network: TERMS.network, asset: null, payTo: null, payload })
const hex = (bytes: number) =>
  fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((value) => `0x${Buffer.from(value).toString('hex')}`)
const recased = (text: string, mask: readonly boolean[]): string =>
  text.replaceAll(/(?<!^)[0-9a-f]/g, (digit, index: number) =>
    mask[index % mask.length] ? digit.toUpperCase() : digit,
  )

const authorization = fc.record({
  from: hex(20),
  to: fc.constant(MERCHANT_ADDRESS as string),
  value: fc.bigInt({ min: 1n, max: 10n ** 18n }).map(String),
  validAfter: fc.bigInt({ min: 0n, max: 2n ** 255n }).map(String),
  validBefore: fc.bigInt({ min: 0n, max: 2n ** 40n }).map(String),
  nonce: hex(32),
})
const payload = fc.record({ signature: hex(65), authorization })

describe('reading an EIP-3009 payment', () => {
  it('gives every accepted spelling of one payment one claim and one canonical form', async () => {
    const signed = await signAuthorization(createPayer())
    const read = textualVariants(baseRequirement(), signed).flatMap((header) => {
      try {
        return [readEvmPayment(readPaymentHeader(header), TERMS)]
      } catch (error) {
        if (error instanceof DomainError) return []
        throw error
      }
    })
    expect(read.length).toBeGreaterThan(10)
    expect(new Set(read.map(({ claimKey }) => claimKey)).size).toBe(1)
    expect(new Set(read.map(({ wire }) => JSON.stringify(wire))).size).toBe(1)
  })

  it('ignores the case of hexadecimal, and distinguishes any other change', () => {
    fc.assert(
      fc.property(payload, fc.array(fc.boolean(), { minLength: 1, maxLength: 7 }), (one, mask) => {
        const { signature, authorization: signed } = one
        const same = {
          signature: recased(signature, mask),
          authorization: { ...signed, from: recased(signed.from, mask), nonce: recased(signed.nonce, mask) },
        }
        const first = readEvmPayment(enveloped(one), TERMS)
        const second = readEvmPayment(enveloped(same), TERMS)
        expect(second).toEqual(first)
        expect(first.amountAtomic).toBe(BigInt(signed.value))
        const nonce = `0x${signed.nonce.slice(2).replace(/^./, (digit) => (digit === '0' ? '1' : '0'))}`
        const other = readEvmPayment(enveloped({ signature, authorization: { ...signed, nonce } }), TERMS)
        expect(other.claimKey).not.toBe(first.claimKey)
        const more = { ...signed, value: `${signed.value}0` }
        const larger = readEvmPayment(enveloped({ signature, authorization: more }), TERMS)
        expect([larger.claimKey === first.claimKey, larger.nonceKey]).toEqual([false, first.nonceKey])
      }),
    )
  })

  it('knows the claim of a payment under any terms', () => {
    const elsewhere = { ...TERMS, payTo: `0x${'e'.repeat(40)}` }
    fc.assert(
      fc.property(payload, (one) => {
        const envelope = enveloped(one)
        expect(() => readEvmPayment(envelope, elsewhere)).toThrow(DomainError)
        expect(readEvmClaimKey(envelope, elsewhere.asset)).toBe(readEvmPayment(envelope, TERMS).claimKey)
      }),
    )
    fc.assert(
      fc.property(fc.anything(), (value) => {
        expect(readEvmClaimKey(enveloped(value), TERMS.asset)).toBeNull()
      }),
    )
  })

  it.each([
    ['signature', '0x12', 'payload.signature: must be 0x and the hexadecimal of 65 to 3,000 bytes'],
    ['validAfter', '0x1', 'payload.authorization.validAfter: must be a decimal string of Unix seconds'],
    ['nonce', '1', 'payload.authorization.nonce: must be 0x and 64 hexadecimal digits'],
  ])('says what %s must be', async (field, value, words) => {
    const { signature, authorization: fields } = await signAuthorization(createPayer())
    const wrong =
      field === 'signature'
        ? { signature: value, authorization: fields }
        : { signature, authorization: { ...fields, [field]: value } }
    expect(() => readEvmPayment(enveloped(wrong), TERMS)).toThrow(words)
  })

  it('keeps what it read through JSON, as the database does', () => {
    fc.assert(
      fc.property(payload, (one) => {
        const { wire } = readEvmPayment(enveloped(one), TERMS)
        expect(JSON.parse(JSON.stringify(wire))).toEqual(wire)
      }),
    )
  })

  it('fails by code and in no other way for anything else', () => {
    const mutilated = fc.record({ signature: fc.anything(), authorization: fc.anything() })
    fc.assert(
      fc.property(fc.oneof(fc.anything(), mutilated), (value) => {
        expect(() => readEvmPayment(enveloped(value), TERMS)).toThrow(DomainError)
      }),
    )
  })

  it('takes amounts in one way of writing only', () => {
    for (const value of ['05', ' 5', '5.0', '0x5', '-5', '5e6', '', '５']) {
      const wrong = {
        signature: `0x${'1'.repeat(130)}`,
        authorization: {
          from: `0x${'a'.repeat(40)}`,
          to: MERCHANT_ADDRESS,
          value,
          validAfter: '0',
          validBefore: '1',
          nonce: `0x${'0'.repeat(64)}`,
        },
      }
      expect(() => readEvmPayment(enveloped(wrong), TERMS)).toThrow(
        expect.objectContaining({ code: 'payment_amount_invalid' }),
      )
    }
  })

  it('rejects a payment that expires too far ahead, and says when it must expire', async () => {
    const limit = Math.floor(NOW.getTime() / 1_000) + 3_900
    const read = async (validBefore: number | bigint) =>
      readWithin(enveloped(await signAuthorization(createPayer(), { validBefore: BigInt(validBefore) })), TERMS, {
        now: NOW,
        maxValiditySeconds: 3_900,
      })
    expect((await read(limit)).validUntil).toEqual(new Date(limit * 1_000))
    for (const validBefore of [limit + 1, 99_999_999_999n, 2n ** 250n]) {
      await expect(read(validBefore)).rejects.toMatchObject({
        code: 'payment_invalid',
        message: expect.stringContaining(`validBefore is ${validBefore}; it must be at most ${limit}`),
      })
    }
  })
})
