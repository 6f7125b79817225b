/** The three names under which a payment may come, newest first. */
export const PAYMENT_HEADERS = ['PAYMENT-SIGNATURE', 'X-402-Payment', 'X-PAYMENT'] as const

const V1_NAMES = new Map([
  ['eip155:8453', 'base'],
  ['solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp', 'solana'],
])

interface Requirement {
  network: string
  amount: string
}

type Shape = (requirement: Requirement, payload: object) => Record<string, unknown>

const v1Layout: Shape = ({ network }, payload) => ({ scheme: 'exact', network: V1_NAMES.get(network), payload })

/** The three envelopes that real clients send around one scheme payload. */
export const PAYMENT_SHAPES = {
  v2: (requirement, payload) => ({ x402Version: 2, accepted: requirement, payload }),
  v1: (requirement, payload) => ({ x402Version: 1, ...v1Layout(requirement, payload) }),
  /** Version 2 with the layout of version 1. */
  hybrid: (requirement, payload) => ({ x402Version: 2, ...v1Layout(requirement, payload) }),
} satisfies Record<string, Shape>

export function encodeHeader(value: unknown): string {
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64')
}

export function decodeHeader(header: string | null): unknown {
  return header === null ? null : JSON.parse(Buffer.from(header, 'base64').toString())
}

/** A payment as version 2 clients send it. */
export function paymentHeader(requirement: Requirement, payload: object): Record<string, string> {
  return { 'PAYMENT-SIGNATURE': encodeHeader(PAYMENT_SHAPES.v2(requirement, payload)) }
}

interface Authorized {
  signature: string
  authorization: { from: string; to: string; value: string; nonce: string }
}

/** Other spellings of one EVM payment: each names the same transfer, so all of them together may be credited once. */
export function textualVariants(requirement: Requirement, payload: Authorized): string[] {
  const { signature, authorization } = payload
  const changed = (fields: Partial<Authorized['authorization']>): Authorized => ({
    signature,
    authorization: { ...authorization, ...fields },
  })
  const hex = (text: string): string => `0x${text.slice(2).toUpperCase()}`
  const payloads: object[] = [
    payload,
    changed({ from: authorization.from.toLowerCase() }),
    changed({ from: hex(authorization.from) }),
    changed({ to: authorization.to.toLowerCase() }),
    changed({ nonce: hex(authorization.nonce) }),
    changed({ value: `0x${BigInt(authorization.value).toString(16)}` }),
    changed({ value: ` ${authorization.value} ` }),
    changed({ value: `0${authorization.value}` }),
    { ...payload, signature: hex(signature) },
    { ...payload, extra: true },
    { authorization: Object.fromEntries(Object.entries(authorization).toReversed()), signature },
  ]
  const shapes = Object.values(PAYMENT_SHAPES)
  const spaced = JSON.stringify(PAYMENT_SHAPES.v2(requirement, payload), null, 2)
  return [
    ...payloads.flatMap((one) => shapes.map((shape) => encodeHeader(shape(requirement, one)))),
    encodeHeader(spaced),
  ]
}
