import { createPublicKey, verify } from 'node:crypto'
import {
  type CompiledTransactionMessage,
  getCompiledTransactionMessageDecoder,
  getCompiledTransactionMessageEncoder,
} from '@solana/kit'
import { parseSolanaKey } from '../../../domain/wallets/wallet-address.ts'

/** The size of one network packet, which limits every transaction. */
const TRANSACTION_BYTES_MAX = 1_232
const SIGNATURE_BYTES = 64
/** Those of the fee payer and the payer. Each further one would cost the fee payer. */
const SIGNATURES = 2
const MESSAGE_START = 1 + SIGNATURES * SIGNATURE_BYTES

type DecodedMessage = Exclude<CompiledTransactionMessage, { version: 1 }> & { lifetimeToken: string }

export interface MessageInstruction {
  program: string
  accounts: readonly string[]
  data: Buffer
}

/** A decoded transaction with two signers, with each account given as an address. */
export interface TransferMessage {
  /** The signed bytes. */
  bytes: Buffer
  payerSignature: Buffer
  feePayer: string
  /** The second signer. */
  signer: string
  blockhash: string
  accounts: readonly string[]
  instructions: readonly MessageInstruction[]
}

/**
 * Decodes the wire form of a transaction. Undefined unless it has exactly two signers, uses no look-up tables (they
 * could name the fee payer), names only accounts that it has, and is the canonical encoding of its message.
 */
export function readTransferMessage(wire: Buffer): TransferMessage | undefined {
  if (wire.length <= MESSAGE_START || wire.length > TRANSACTION_BYTES_MAX || wire[0] !== SIGNATURES) return undefined
  const bytes = wire.subarray(MESSAGE_START)
  const message = decodeMessage(bytes)
  const [feePayer, signer] = message?.staticAccounts ?? []
  if (message === undefined || feePayer === undefined || signer === undefined) return undefined
  if (message.header.numSignerAccounts !== SIGNATURES) return undefined
  const accounts: readonly string[] = message.staticAccounts
  if (new Set(accounts).size !== accounts.length) return undefined
  const named = message.instructions.flatMap(({ programAddressIndex, accountIndices = [] }) => {
    return [programAddressIndex, ...accountIndices]
  })
  if (named.some((index) => index >= accounts.length)) return undefined
  const account = (index: number): string => accounts[index] ?? ''
  const instructions = message.instructions.map(({ programAddressIndex, accountIndices = [], data }) => {
    return {
      program: account(programAddressIndex),
      accounts: accountIndices.map(account),
      data: Buffer.from(data ?? []),
    }
  })
  const payerSignature = wire.subarray(1 + SIGNATURE_BYTES, MESSAGE_START)
  return { bytes, payerSignature, feePayer, signer, blockhash: message.lifetimeToken, accounts, instructions }
}

/** The wire form with the fee payer's signature, or with an empty place for it. */
export function writeTransaction(
  { bytes, payerSignature }: TransferMessage,
  feePayerSignature: Uint8Array = new Uint8Array(SIGNATURE_BYTES),
): Buffer {
  return Buffer.concat([Buffer.of(SIGNATURES), feePayerSignature, payerSignature, bytes])
}

export function isSignedByPayer({ bytes, payerSignature, signer }: TransferMessage): boolean {
  const x = parseSolanaKey(signer)?.toString('base64url')
  if (x === undefined) return false
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  return verify(null, bytes, key, payerSignature)
}

function decodeMessage(bytes: Buffer): DecodedMessage | undefined {
  try {
    const message = getCompiledTransactionMessageDecoder().decode(bytes)
    if (message.version === 1) return undefined
    if (message.version === 0 && (message.addressTableLookups?.length ?? 0) > 0) return undefined
    const canonical = getCompiledTransactionMessageEncoder().encode(message)
    return bytes.equals(Uint8Array.from(canonical)) ? message : undefined
  } catch {
    return undefined
  }
}
