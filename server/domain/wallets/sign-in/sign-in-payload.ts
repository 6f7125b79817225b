import { z } from 'zod'
import { safeParseDescribed } from '../../validation/described.ts'
import type { WalletAddress } from '../wallet-address.ts'
import { chainOfId, chainOfType, EVM_CHAIN_ID, SOLANA_REFERENCE } from './sign-in-chain.ts'
import { signInRefused } from './sign-in-error.ts'
import type { SignInMessage } from './sign-in-message.ts'

/** A sign-in takes about 800 bytes, for a contract wallet with a passkey up to 4,000; longer ones are not decoded. */
export const PAYLOAD_CHARACTERS_MAX = 8_192
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/
/**
 * Characters that can break or reorder the lines that a wallet shows, or have no UTF-8 encoding (unpaired surrogates).
 */
const HIDDEN = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Bidi_Control}]/u
const isPlain = (value: string): boolean => !HIDDEN.test(value)

const line = z.string().min(1).refine(isPlain, { error: 'must not contain control characters' })
const chainId = z.union([z.string(), z.number()])

const Common = { address: line, signature: line, type: line.optional(), signatureScheme: line.optional() }

/** The form that contains the signed text itself. */
const TextForm = z.object({
  ...Common,
  message: z
    .string()
    .min(1)
    .refine((value) => isPlain(value.replaceAll('\n', '')), {
      error: 'must not contain control characters except line feeds',
    }),
  chainId: chainId.optional(),
  timestamp: z.number().optional(),
})

/** The fields of x402's sign-in extension, from which the signed text is rebuilt. */
const FieldForm = z.object({
  ...Common,
  chainId,
  domain: line,
  uri: line,
  version: line,
  nonce: line.optional(),
  issuedAt: line,
  statement: line.optional(),
  expirationTime: line.optional(),
  notBefore: line.optional(),
  requestId: line.optional(),
  resources: z.array(line).max(20).optional(),
})

export interface SignInPayload {
  address: string
  signature: string
  /** The chain on which `chainId`, `type` and `signatureScheme` agree; null if only the text names it. */
  chain: WalletAddress['chain'] | null
  /** Unix ms, sent next to the signed text; not signed. */
  timestampMs: number | null
  /** The signed text, or the fields to rebuild it from. */
  signed: { text: string } | { fields: SignInMessage }
}

/** Parses a sign-in header: Base64 of JSON, in either form. Nothing is verified yet. Fails with `sign_in_refused`. */
export function readSignInPayload(payload: string): SignInPayload {
  const document = decode(payload)
  if (typeof document === 'object' && document !== null && 'message' in document) {
    const form = parse(TextForm, document)
    const chain = form.chainId === undefined ? null : chainOfId(form.chainId)
    return {
      address: form.address,
      signature: form.signature,
      chain: agreed(chain, [form.type, form.signatureScheme]),
      timestampMs: form.timestamp ?? null,
      signed: { text: form.message },
    }
  }
  const form = parse(FieldForm, document)
  const chain = chainOfId(form.chainId)
  agreed(chain, [form.type, form.signatureScheme])
  const { address, signature } = form
  return { address, signature, chain, timestampMs: null, signed: { fields: toMessage(form, chain) } }
}

function decode(payload: string): unknown {
  if (payload.length > PAYLOAD_CHARACTERS_MAX) {
    throw malformed(`it has ${payload.length} characters, more than the ${PAYLOAD_CHARACTERS_MAX} allowed`)
  }
  if (!BASE64.test(payload)) throw malformed('it must be Base64 with the standard alphabet, of a JSON object')
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(payload, 'base64')))
  } catch {
    throw malformed('its content is not JSON in UTF-8')
  }
}

function parse<Schema extends z.ZodType>(schema: Schema, document: unknown): z.output<Schema> {
  const parsed = safeParseDescribed(schema, document)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const field = issue?.path.join('.') ?? ''
  throw malformed(`${field === '' ? 'the JSON' : field.slice(0, 64)}: ${issue?.message ?? 'unexpected'}`)
}

/** The chain that all of them name; null if none does. */
function agreed(chain: WalletAddress['chain'] | null, types: readonly (string | undefined)[]) {
  let found = chain
  for (const type of types) {
    if (type === undefined) continue
    const named = chainOfType(type)
    if (found !== null && named !== found) {
      throw signInRefused('CHAIN_MISMATCH', `type ${type} does not belong to the chain given in chainId`)
    }
    found = named
  }
  return found
}

function toMessage(form: z.output<typeof FieldForm>, chain: WalletAddress['chain']): SignInMessage {
  const { domain, address, uri, version, issuedAt, nonce } = form
  const { statement, expirationTime, notBefore, requestId, resources } = form
  return {
    chain,
    domain,
    address,
    statement,
    uri,
    version,
    chainId: chain === 'evm' ? String(EVM_CHAIN_ID) : SOLANA_REFERENCE,
    nonce,
    issuedAt,
    expirationTime,
    notBefore,
    requestId,
    resources,
  }
}

function malformed(reason: string) {
  return signInRefused('INVALID_PAYLOAD', reason)
}
