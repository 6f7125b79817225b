import {
  AccountRole,
  type Address,
  address,
  appendTransactionMessageInstructions,
  createTransactionMessage,
  getBase64EncodedWireTransaction,
  type Instruction,
  type KeyPairSigner,
  partiallySignTransactionMessageWithSigners,
  pipe,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
} from '@solana/kit'
import {
  SOLANA_FACILITATOR_ADDRESS,
  SOLANA_MERCHANT_ADDRESS,
  SOLANA_NETWORK,
  type SolanaChain,
  TOKEN_PROGRAM,
  tokenAccountOf,
  USDC_MINT,
} from './solana-chain.ts'

const COMPUTE_BUDGET_PROGRAM = address('ComputeBudget111111111111111111111111111111')
const MEMO_PROGRAM = address('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr')

/** The Solana payload of scheme `exact`. */
export interface SolanaPayload {
  transaction: string
}

export interface SolanaPaymentOptions {
  value?: bigint
  payTo?: Address
  /** The transfer's destination where it is not the payee's token account. */
  destination?: Address
  mint?: Address
  decimals?: number
  feePayer?: Address
  computeUnits?: number
  microLamportsPerUnit?: bigint
  memo?: string
  /** Instructions after the transfer and the memo. */
  more?: readonly Instruction[]
  /** Replaces all instructions but the first two. */
  instead?: readonly Instruction[]
}

/** The `accepts` entry that a payment answers. */
export function solanaRequirement(amount = '5000000', payTo: Address = SOLANA_MERCHANT_ADDRESS) {
  return {
    scheme: 'exact',
    network: SOLANA_NETWORK,
    amount,
    asset: USDC_MINT as string,
    payTo: payTo as string,
    maxTimeoutSeconds: 300,
    extra: { feePayer: SOLANA_FACILITATOR_ADDRESS as string },
  }
}

/** Signs a transfer of 5 USDC to the merchant in the layout of stock clients, where the options say nothing else. */
export async function signSolanaPayment(
  chain: SolanaChain,
  signer: KeyPairSigner,
  options: SolanaPaymentOptions = {},
): Promise<SolanaPayload> {
  const { feePayer = SOLANA_FACILITATOR_ADDRESS, memo = crypto.randomUUID(), more = [] } = options
  const instructions = options.instead ?? [await transfer(signer, options), memoInstruction(memo), ...more]
  const lifetime = { blockhash: chain.ledger.svm.latestBlockhash(), lastValidBlockHeight: 0n }
  const message = pipe(
    createTransactionMessage({ version: 0 }),
    (draft) => setTransactionMessageFeePayer(feePayer, draft),
    (draft) => setTransactionMessageLifetimeUsingBlockhash(lifetime, draft),
    (draft) => appendTransactionMessageInstructions([...computeBudget(options), ...instructions], draft),
  )
  return { transaction: getBase64EncodedWireTransaction(await partiallySignTransactionMessageWithSigners(message)) }
}

export function memoInstruction(memo: string): Instruction {
  return { programAddress: MEMO_PROGRAM, accounts: [], data: new TextEncoder().encode(memo) }
}

async function transfer(signer: KeyPairSigner, options: SolanaPaymentOptions): Promise<Instruction> {
  const { value = 5_000_000n, payTo = SOLANA_MERCHANT_ADDRESS, mint = USDC_MINT, decimals = 6 } = options
  const data = Buffer.alloc(10)
  data.writeUInt8(12, 0)
  data.writeBigUInt64LE(value, 1)
  data.writeUInt8(decimals, 9)
  const authority = { address: signer.address, role: AccountRole.READONLY_SIGNER, signer }
  return {
    programAddress: TOKEN_PROGRAM,
    accounts: [
      { address: await tokenAccountOf(signer.address, mint), role: AccountRole.WRITABLE },
      { address: mint, role: AccountRole.READONLY },
      { address: options.destination ?? (await tokenAccountOf(payTo, mint)), role: AccountRole.WRITABLE },
      authority,
    ],
    data: Uint8Array.from(data),
  }
}

function computeBudget({ computeUnits = 20_000, microLamportsPerUnit = 1n }: SolanaPaymentOptions): Instruction[] {
  const limit = Buffer.alloc(5)
  limit.writeUInt8(2, 0)
  limit.writeUInt32LE(computeUnits, 1)
  const price = Buffer.alloc(9)
  price.writeUInt8(3, 0)
  price.writeBigUInt64LE(microLamportsPerUnit, 1)
  return [limit, price].map((data) => ({ programAddress: COMPUTE_BUDGET_PROGRAM, data: Uint8Array.from(data) }))
}
