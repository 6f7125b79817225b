import { z } from 'zod'
import type { DomainError } from '../../../domain/errors.ts'
import type { PaymentEnvelope } from '../../../domain/payments/payment-envelope.ts'
import { paymentError } from '../../../domain/payments/payment-errors.ts'
import type { PaymentRequirement, SignedPayment } from '../../../domain/payments/payment-network.ts'

const ADDRESS = /^0x[0-9a-fA-F]{40}$/
const NONCE = /^0x[0-9a-fA-F]{64}$/
/** A plain signature has 65 bytes; that of a contract wallet may be longer, and one with a deployment even longer. */
const SIGNATURE = /^0x(?:[0-9a-fA-F]{2}){65,3000}$/
/** One way to write each number, below 2^256. */
const DECIMAL = /^(?:0|[1-9][0-9]{0,76})$/
const YEAR_9999_SECONDS = 253_370_764_800n

const seconds = z.string().regex(DECIMAL, { error: 'must be a decimal string of Unix seconds, such as "1790000000"' })
/** Exactly the EIP-3009 payload of scheme `exact`, because a facilitator chooses its path by the payload's shape. */
const Payload = z.strictObject({
  signature: z.string().regex(SIGNATURE, { error: 'must be 0x and the hexadecimal of 65 to 3,000 bytes' }),
  authorization: z.strictObject({
    from: z.string(),
    to: z.string(),
    value: z.string(),
    validAfter: seconds,
    validBefore: seconds,
    nonce: z.string().regex(NONCE, { error: 'must be 0x and 64 hexadecimal digits' }),
  }),
})

/** The authorisation in its one canonical spelling: lower-case hexadecimal, plain decimals. */
export interface EvmAuthorization {
  from: `0x${string}`
  to: `0x${string}`
  value: string
  validAfter: string
  validBefore: string
  nonce: `0x${string}`
}

export interface EvmPayload extends Record<string, unknown> {
  signature: `0x${string}`
  authorization: EvmAuthorization
}

export interface PaymentValidity {
  now: Date
  /** How far ahead a payment may expire. */
  maxValiditySeconds: number
}

/**
 * Reads a payment on an EVM chain and checks it against the terms; the signed amount replaces the one in the terms.
 * Does not check the signature.
 */
export function readEvmPayment(
  envelope: PaymentEnvelope,
  terms: PaymentRequirement,
  validity: PaymentValidity,
): SignedPayment {
  const parsed = Payload.safeParse(envelope.payload)
  if (!parsed.success) throw malformed(parsed.error)
  const { from, to, value, validAfter, validBefore, nonce } = parsed.data.authorization
  if (envelope.asset !== null && !isSame(envelope.asset, terms.asset)) {
    throw paymentError(
      'payment_token_unsupported',
      `The token ${shortened(envelope.asset)} is not supported; pay with ${terms.asset}`,
    )
  }
  if (!isSame(to, terms.payTo) || (envelope.payTo !== null && !isSame(envelope.payTo, terms.payTo))) {
    throw paymentError('payment_recipient_wrong', `The payment goes to ${shortened(to)}; it must go to ${terms.payTo}`)
  }
  if (!ADDRESS.test(from)) {
    throw paymentError('payment_payer_invalid', 'authorization.from must be an address: 0x and 40 hexadecimal digits')
  }
  if (isSame(from, terms.payTo)) {
    throw paymentError('payment_payer_invalid', 'The wallet that receives payments cannot pay itself')
  }
  if (!DECIMAL.test(value)) {
    throw paymentError(
      'payment_amount_invalid',
      'authorization.value must be a decimal string of base units, such as "5000000"',
    )
  }
  checkValidity(validBefore, validity)
  const authorization: EvmAuthorization = {
    from: lower(from),
    to: lower(to),
    value,
    validAfter,
    validBefore,
    nonce: lower(nonce),
  }
  const payload: EvmPayload = { signature: withRecoveryId(lower(parsed.data.signature)), authorization }
  return {
    network: terms.network,
    payer: { chain: 'evm', address: authorization.from },
    asset: terms.asset,
    payTo: terms.payTo,
    amountAtomic: BigInt(value),
    claimKey: claimKeyOf(terms.asset, authorization),
    nonceKey: nonceKeyOf(terms.asset, authorization),
    validUntil: toDate(BigInt(validBefore)),
    wire: { x402Version: 2, accepted: { ...terms, amount: value }, payload },
  }
}

/** A payment that stays valid for years could be submitted long after everybody has forgotten it. */
function checkValidity(validBefore: string, { now, maxValiditySeconds }: PaymentValidity): void {
  const latest = Math.floor(now.getTime() / 1_000) + maxValiditySeconds
  if (BigInt(validBefore) <= BigInt(latest)) return
  throw paymentError(
    'payment_invalid',
    `payload.authorization.validBefore is ${validBefore}; it must be at most ${latest}, which is ${maxValiditySeconds} seconds from now: sign a payment that expires sooner`,
  )
}

/** The claim of a payment in the token, whatever its other terms; null if it is not an authorization. */
export function readEvmClaimKey({ payload }: PaymentEnvelope, asset: string): string | null {
  const parsed = Payload.safeParse(payload)
  return parsed.success ? claimKeyOf(asset, parsed.data.authorization) : null
}

/** Includes the signed amount: a payer may sign several under one nonce, and the chain decides which one counts. */
function claimKeyOf(asset: string, authorization: { from: string; nonce: string; value: string }): string {
  return `${nonceKeyOf(asset, authorization)}:${authorization.value}`
}

/** A payer's nonce can be used once per token. */
function nonceKeyOf(asset: string, { from, nonce }: { from: string; nonce: string }): string {
  return `${lower(asset)}:${lower(from)}:${lower(nonce)}`
}

/** Payload of a payment created by `readEvmPayment`. */
export function payloadOf({ wire }: SignedPayment): EvmPayload {
  return wire.payload as EvmPayload
}

/** Some signers end a signature in 0 or 1, which the token rejects; it accepts 27 and 28. */
function withRecoveryId(signature: `0x${string}`): `0x${string}` {
  if (signature.length !== 132) return signature
  const last = signature.slice(-2)
  if (last === '00') return `${signature.slice(0, -2)}1b` as `0x${string}`
  return last === '01' ? (`${signature.slice(0, -2)}1c` as `0x${string}`) : signature
}

function toDate(seconds: bigint): Date {
  return new Date(Number(seconds < YEAR_9999_SECONDS ? seconds : YEAR_9999_SECONDS) * 1_000)
}

function isSame(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase()
}

function lower(hex: string): `0x${string}` {
  return `0x${hex.slice(2).toLowerCase()}`
}

function shortened(text: string): string {
  return text.length > 42 ? `${text.slice(0, 42)}…` : text
}

function malformed(error: z.ZodError): DomainError {
  const issue = error.issues[0]
  const field = ['payload', ...(issue?.path ?? [])].map(String).join('.')
  return paymentError(
    'payment_invalid',
    `The payment is not an EIP-3009 authorization: ${field}: ${issue?.message ?? 'invalid'}`,
  )
}
