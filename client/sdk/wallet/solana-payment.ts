import { SluiceError } from '../errors.ts'
import { randomHex } from '../http/transport.ts'
import { fromBase58 } from './base58.ts'
import type { PaymentRequirement } from './payment.ts'
import { concatBytes, deriveAddress } from './solana-accounts.ts'
import type { Wallet } from './wallet.ts'

const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
const ASSOCIATED_TOKEN_PROGRAM = 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL'
const COMPUTE_BUDGET_PROGRAM = 'ComputeBudget111111111111111111111111111111'
const MEMO_PROGRAM = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr'
const USDC_DECIMALS = 6
const COMPUTE_UNITS = 20_000
const MICRO_LAMPORTS_PER_UNIT = 1n
const SIGNATURE_BYTES = 64

/** Index of each account in the message below. */
const AT = { feePayer: 0, owner: 1, source: 2, destination: 3, mint: 4, token: 5, computeBudget: 6, memo: 7 } as const

/** A transfer whose fee the service pays: it signs after the wallet and submits it. */
export async function signSolanaPayment(
  wallet: Wallet,
  requirement: PaymentRequirement,
  latestBlockhash: () => Promise<string>,
): Promise<{ transaction: string }> {
  if (wallet.signTransaction === undefined)
    throw new SluiceError('The wallet has no signTransaction, which payments require')
  const message = await toMessage(wallet.address, requirement, await latestBlockhash())
  const unsigned = concatBytes([Uint8Array.of(2), new Uint8Array(2 * SIGNATURE_BYTES), message])
  const signed = await wallet.signTransaction(unsigned)
  return { transaction: btoa(String.fromCharCode(...signed)) }
}

/** A message of version 0 in the layout of x402's scheme `exact`. */
async function toMessage(owner: string, requirement: PaymentRequirement, blockhash: string): Promise<Uint8Array> {
  const { asset, payTo, amount, extra = {} } = requirement
  const [mint, token] = [fromBase58(asset), fromBase58(TOKEN_PROGRAM)]
  const tokenAccountOf = (holder: string): Promise<Uint8Array> =>
    deriveAddress([fromBase58(holder), token, mint], fromBase58(ASSOCIATED_TOKEN_PROGRAM))
  const accounts = [
    fromBase58(String(extra['feePayer'])),
    fromBase58(owner),
    await tokenAccountOf(owner),
    await tokenAccountOf(payTo),
    mint,
    token,
    fromBase58(COMPUTE_BUDGET_PROGRAM),
    fromBase58(MEMO_PROGRAM),
  ]
  // Without a memo of the merchant, a random one distinguishes two equal payments.
  const memo = new TextEncoder().encode(typeof extra['memo'] === 'string' ? extra['memo'] : randomHex(16))
  const transfer = concatBytes([Uint8Array.of(12), littleEndian(BigInt(amount), 8), Uint8Array.of(USDC_DECIMALS)])
  const instructions = [
    instruction(AT.computeBudget, [], concatBytes([Uint8Array.of(2), littleEndian(BigInt(COMPUTE_UNITS), 4)])),
    instruction(AT.computeBudget, [], concatBytes([Uint8Array.of(3), littleEndian(MICRO_LAMPORTS_PER_UNIT, 8)])),
    instruction(AT.token, [AT.source, AT.mint, AT.destination, AT.owner], transfer),
    instruction(AT.memo, [], memo),
  ]
  // Version 0; two signers, of which the owner is read-only; the last four accounts are read-only; no look-up tables.
  return concatBytes([
    Uint8Array.of(0x80, 2, 1, 4),
    compact(accounts.length),
    ...accounts,
    fromBase58(blockhash),
    compact(instructions.length),
    ...instructions,
    Uint8Array.of(0),
  ])
}

function instruction(program: number, accounts: readonly number[], data: Uint8Array): Uint8Array {
  return concatBytes([Uint8Array.of(program, accounts.length, ...accounts), compact(data.length), data])
}

function littleEndian(value: bigint, bytes: number): Uint8Array {
  return Uint8Array.from({ length: bytes }, (_, at) => Number((value >> BigInt(8 * at)) & 255n))
}

/** Solana's compact-u16. */
function compact(length: number): Uint8Array {
  return length < 128 ? Uint8Array.of(length) : Uint8Array.of((length & 127) | 128, length >> 7)
}
