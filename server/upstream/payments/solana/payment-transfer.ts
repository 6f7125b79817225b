import type { DomainError } from '../../../domain/errors.ts'
import { paymentError } from '../../../domain/payments/payment-errors.ts'
import { isProgramAccount, TOKEN_PROGRAM } from './token-account.ts'
import { isSignedByPayer, type MessageInstruction, type TransferMessage } from './transfer-message.ts'

const COMPUTE_BUDGET_PROGRAM = 'ComputeBudget111111111111111111111111111111'
/** Memos make payments differ; wallets add Lighthouse's assertions to protect their owners. */
export const MEMO_PROGRAM = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr'
const LIGHTHOUSE_PROGRAM = 'L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95'

const SET_COMPUTE_UNIT_LIMIT = 2
const SET_COMPUTE_UNIT_PRICE = 3
const TRANSFER_CHECKED = 12
export const TRANSFER_INDEX = 2
/** One base unit is counted as 1,000 nano-USD. */
export const DECIMALS = 6
const INSTRUCTIONS_MAX = 7
const COMPUTE_UNITS_MAX = 200_000n
/** 5 lamports a unit, the protocol's bound. */
const UNIT_PRICE_MICRO_LAMPORTS_MAX = 5_000_000n
/** For the fee payer's signature and the payer's. */
const SIGNATURES_FEE_LAMPORTS = 10_000n
const MICRO_PER_LAMPORT = 1_000_000n

export interface Merchant {
  mint: string
  payTo: string
}

export interface PaymentTerms extends Merchant {
  /** The payee's associated token account. */
  merchantAccount: string
  /** Null if only the facilitator knows it: then it is compared when the payment is verified. */
  feePayer: string | null
  /** The fee payer's maximum beyond the signature fees. */
  maxPriorityFeeLamports: bigint
}

export interface PaymentTransfer {
  payer: string
  /** The debited token account. */
  source: string
  mint: string
  /** The credited token account. */
  destination: string
  amountAtomic: bigint
  decimals: number
}

/**
 * Checks a transaction against x402's scheme `exact` on Solana: compute limit, compute price, one TransferChecked to
 * the payee, then at most four memos or wallet assertions. It must contain nothing else, because the facilitator signs
 * it.
 */
export function readTransfer(message: TransferMessage, terms: PaymentTerms): PaymentTransfer {
  const [limit, price, , ...others] = message.instructions
  if (limit === undefined || price === undefined) {
    throw badLayout('it must begin with SetComputeUnitLimit, SetComputeUnitPrice and TransferChecked')
  }
  if (message.instructions.length > INSTRUCTIONS_MAX) {
    throw badLayout(`it has ${message.instructions.length} instructions, more than the ${INSTRUCTIONS_MAX} allowed`)
  }
  checkFees(limit, price, terms.maxPriorityFeeLamports)
  const stranger = others.find(({ program }) => program !== MEMO_PROGRAM && program !== LIGHTHOUSE_PROGRAM)
  if (stranger !== undefined) throw badLayout(`program ${stranger.program} is not allowed after the transfer`)
  checkFeePayer(message, terms)
  const transfer = parseTransfer(message)
  checkTransfer(transfer, terms)
  checkPayer(message, transfer.payer, terms)
  return transfer
}

function checkFees(limit: MessageInstruction, price: MessageInstruction, maxLamports: bigint): void {
  const units = computeBudget(limit, SET_COMPUTE_UNIT_LIMIT, 5)?.readUInt32LE(1)
  if (units === undefined) throw badLayout('its first instruction must be SetComputeUnitLimit')
  const unitPrice = computeBudget(price, SET_COMPUTE_UNIT_PRICE, 9)?.readBigUInt64LE(1)
  if (unitPrice === undefined) throw badLayout('its second instruction must be SetComputeUnitPrice')
  if (BigInt(units) > COMPUTE_UNITS_MAX) {
    throw badLayout(`its compute limit is ${units} units, more than the ${COMPUTE_UNITS_MAX} allowed`)
  }
  const feeLamports = priorityFee(units, unitPrice)
  if (unitPrice > UNIT_PRICE_MICRO_LAMPORTS_MAX || feeLamports > maxLamports) {
    throw badLayout(
      `its compute price is ${unitPrice} microlamports for ${units} units, ${feeLamports} lamports in total; the maximum is ${UNIT_PRICE_MICRO_LAMPORTS_MAX} per unit and ${maxLamports} lamports in total`,
    )
  }
}

/** The chain rounds up. */
function priorityFee(units: number, unitPrice: bigint): bigint {
  return (BigInt(units) * unitPrice + MICRO_PER_LAMPORT - 1n) / MICRO_PER_LAMPORT
}

/** The fee of a transaction that passed `readTransfer`, whether it succeeds or fails. */
export function feeOf({ instructions: [limit, price] }: TransferMessage): bigint {
  const units = limit && computeBudget(limit, SET_COMPUTE_UNIT_LIMIT, 5)?.readUInt32LE(1)
  const unitPrice = price && computeBudget(price, SET_COMPUTE_UNIT_PRICE, 9)?.readBigUInt64LE(1)
  return SIGNATURES_FEE_LAMPORTS + priorityFee(units ?? 0, unitPrice ?? 0n)
}

function computeBudget({ program, data }: MessageInstruction, kind: number, length: number): Buffer | undefined {
  return program === COMPUTE_BUDGET_PROGRAM && data.length === length && data[0] === kind ? data : undefined
}

/** The fee payer signs everything in the transaction, so no instruction may touch its accounts. */
function checkFeePayer({ feePayer, instructions }: TransferMessage, terms: PaymentTerms): void {
  if (terms.feePayer !== null && feePayer !== terms.feePayer) {
    throw paymentError(
      'payment_invalid',
      `The fee payer of the transaction is ${feePayer}; it must be ${terms.feePayer}`,
      'fee_payer_mismatch',
    )
  }
  if (instructions.some(({ accounts }) => accounts.includes(feePayer))) {
    throw paymentError('payment_invalid', `An instruction names the fee payer ${feePayer}`, 'fee_payer_in_accounts')
  }
}

/** The transfer that the third instruction declares. */
export function parseTransfer({ instructions }: TransferMessage): PaymentTransfer {
  const { program = '', accounts = [], data = Buffer.alloc(0) } = instructions[TRANSFER_INDEX] ?? {}
  const [source, mint, destination, payer] = accounts
  const complete = source !== undefined && mint !== undefined && destination !== undefined && payer !== undefined
  const isTransfer = program === TOKEN_PROGRAM && data.length === 10 && data[0] === TRANSFER_CHECKED
  if (!isTransfer || !complete || accounts.length !== 4) {
    throw badLayout('its third instruction must be TransferChecked of the SPL Token program with one authority')
  }
  return { payer, source, mint, destination, amountAtomic: data.readBigUInt64LE(1), decimals: data.readUInt8(9) }
}

function checkTransfer({ mint, destination, amountAtomic, decimals }: PaymentTransfer, terms: PaymentTerms): void {
  if (mint !== terms.mint) {
    throw paymentError('payment_token_unsupported', `The transfer moves token ${mint}; it must move ${terms.mint}`)
  }
  // The chain accepts the transfer only if the mint has these decimals.
  if (decimals !== DECIMALS) {
    throw paymentError(
      'payment_token_unsupported',
      `The transfer gives the token ${decimals} decimals; it has ${DECIMALS}`,
    )
  }
  if (destination !== terms.merchantAccount) {
    throw paymentError(
      'payment_recipient_wrong',
      `The transfer goes to ${destination}; it must go to ${terms.merchantAccount}, the token account of ${terms.payTo}`,
    )
  }
  if (amountAtomic === 0n) throw paymentError('payment_amount_invalid', 'The transfer moves 0 base units')
}

function checkPayer(message: TransferMessage, authority: string, { payTo }: PaymentTerms): void {
  if (authority === payTo) {
    throw paymentError('payment_payer_invalid', `${authority} would pay itself`)
  }
  if (isProgramAccount(authority)) {
    throw paymentError(
      'payment_payer_invalid',
      `${authority} is not a key but the account of a program, and could never sign in to use the credit: pay from a wallet`,
    )
  }
  if (authority !== message.signer) {
    throw paymentError('payment_payer_invalid', `${authority} moves the token, but ${message.signer} has signed`)
  }
  if (!isSignedByPayer(message)) {
    throw paymentError(
      'payment_invalid',
      `The signature of ${authority} does not match the transaction`,
      'signature_mismatch',
    )
  }
}

function badLayout(reason: string): DomainError {
  return paymentError('payment_invalid', `The transaction is not a payment of scheme exact: ${reason}`, 'layout')
}
