import { z } from 'zod'
import type { DomainError } from '../errors.ts'
import type { PaymentEnvelope } from './payment-envelope.ts'
import { paymentError } from './payment-errors.ts'

/** A payment takes about 1 KB; longer headers are not decoded. */
const HEADER_CHARACTERS_MAX = 8_192
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

/** Version 1 names of the two chains, and the bare name that some clients send. */
const CAIP_NAMES: Record<string, string> = {
  base: 'eip155:8453',
  solana: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
}

const Payload = z.looseObject({})

const AcceptedForm = z.looseObject({
  x402Version: z.literal(2),
  accepted: z.looseObject({ scheme: z.string(), network: z.string(), asset: z.string(), payTo: z.string() }),
  payload: Payload,
})

/** Version 1, and version 2 in version 1's layout, which real clients send. */
const FlatForm = z.looseObject({
  x402Version: z.union([z.literal(1), z.literal(2)]),
  scheme: z.string(),
  network: z.string(),
  payload: Payload,
})

/**
 * Parses a payment header: Base64 of JSON, in one of x402's three forms. Does not validate the payment itself. Fails with
 * `payment_format_invalid`.
 */
export function readPaymentHeader(header: string): PaymentEnvelope {
  const document = decode(header)
  const accepted = AcceptedForm.safeParse(document)
  if (accepted.success) {
    const { scheme, network, asset, payTo } = accepted.data.accepted
    return { scheme, network: caipName(network), asset, payTo, payload: accepted.data.payload }
  }
  const flat = FlatForm.safeParse(document)
  if (!flat.success) {
    throw malformed(
      'the JSON must contain x402Version, accepted and payload (version 2), or scheme, network and payload',
    )
  }
  const { scheme, network, payload } = flat.data
  return { scheme, network: caipName(network), asset: null, payTo: null, payload }
}

function decode(header: string): unknown {
  if (header.length > HEADER_CHARACTERS_MAX) {
    throw malformed(`it has ${header.length} characters, more than the ${HEADER_CHARACTERS_MAX} allowed`)
  }
  if (!BASE64.test(header)) throw malformed('it must be Base64 with the standard alphabet')
  try {
    return JSON.parse(Buffer.from(header, 'base64').toString('utf8'))
  } catch {
    throw malformed('its content is not JSON')
  }
}

function caipName(network: string): string {
  return Object.hasOwn(CAIP_NAMES, network) ? (CAIP_NAMES[network] ?? network) : network
}

function malformed(reason: string): DomainError {
  return paymentError('payment_format_invalid', `The payment header cannot be read: ${reason}`)
}
