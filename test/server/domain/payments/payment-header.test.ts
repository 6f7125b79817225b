import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DomainError } from '../../../../server/domain/errors.ts'
import { readPaymentHeader } from '../../../../server/domain/payments/payment-header.ts'
import { encodeHeader } from '../../../support/payment-headers.ts'

const NETWORK = 'eip155:8453'
const codeOf = (read: () => unknown): string => {
  try {
    read()
    return 'read'
  } catch (error) {
    if (error instanceof DomainError) return error.code
    throw error
  }
}

describe('a payment header', () => {
  it.each([
    ['base', NETWORK],
    ['eip155:8453', NETWORK],
    ['solana', 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp'],
    ['constructor', 'constructor'],
  ])('may name its network %s', (network, read) => {
    const flat = { x402Version: 1, scheme: 'exact', network, payload: {} }
    expect(readPaymentHeader(encodeHeader(flat)).network).toBe(read)
  })

  it('states in version 2 what it accepted; further fields of clients are ignored', () => {
    const accepted = { scheme: 'exact', network: NETWORK, asset: '0xA', payTo: '0xB', amount: '1', more: true }
    const header = encodeHeader({ x402Version: 2, accepted, payload: { a: 1 }, resource: { url: 'x' }, extensions: {} })
    expect(readPaymentHeader(header)).toEqual({
      scheme: 'exact',
      network: NETWORK,
      asset: '0xA',
      payTo: '0xB',
      payload: { a: 1 },
    })
  })

  it.each([
    ['base64url', encodeHeader({ x402Version: 1, scheme: '>>>>', network: '????', payload: {} }).replaceAll('+', '-')],
    ['two headers joined', `${encodeHeader({})}, ${encodeHeader({})}`],
    ['nothing', ''],
    ['a list', encodeHeader([])],
    ['a version as text', encodeHeader({ x402Version: '1', scheme: 'exact', network: NETWORK, payload: {} })],
    ['a payload that is text', encodeHeader({ x402Version: 1, scheme: 'exact', network: NETWORK, payload: 'x' })],
  ])('is rejected if it is %s', (_, header) => {
    expect(codeOf(() => readPaymentHeader(header))).toBe('payment_format_invalid')
  })

  it('is read or rejected with a code for any content', () => {
    fc.assert(
      fc.property(fc.oneof(fc.json(), fc.string()), (content) => {
        expect(['read', 'payment_format_invalid']).toContain(codeOf(() => readPaymentHeader(encodeHeader(content))))
        expect(['read', 'payment_format_invalid']).toContain(codeOf(() => readPaymentHeader(content)))
      }),
    )
  })
})
