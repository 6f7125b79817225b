import { type Address, getBase58Decoder, getCompiledTransactionMessageDecoder, type Transaction } from '@solana/kit'
import { FailedTransactionMetadata, LiteSVM, type TransactionMetadata } from 'litesvm'

/** Blocks for which a transaction may name a blockhash, as on every cluster. */
const BLOCKHASH_LIFE_BLOCKS = 150n
const SECONDS_PER_BLOCK = 0.4

/** An error as nodes write it: a name, or `{"InstructionError": [index, cause]}`. */
export type TransactionFailure = string | { InstructionError: [number, string | { Custom: number }] }

/** What the token program holds of an account that a transaction names. */
export interface TokenBalance {
  accountIndex: number
  mint: string
  owner: string
  amount: bigint
}

/** A transaction that is on the chain, whether its instructions succeeded or not. */
export interface ProcessedTransaction {
  signature: string
  transaction: Transaction
  accounts: readonly Address[]
  slot: bigint
  blockTime: bigint
  err: TransactionFailure | null
  meta: TransactionMetadata
  preTokenBalances: TokenBalance[]
  postTokenBalances: TokenBalance[]
}

type Outcome = { signature: string } | { refused: FailedTransactionMetadata }

/** A Solana runtime with what it lacks of a chain: heights, times, a history by address, and a way to halt it. */
export class SolanaLedger {
  readonly svm = new LiteSVM()
  /** Oldest first. */
  readonly history: ProcessedTransaction[] = []
  /** A node may know nothing of earlier blocks. */
  firstAvailableBlock = 1n
  private readonly waiting: Transaction[] = []
  private halted = false
  private height = 1_000_000n
  private aheadSeconds = 0

  get blockHeight(): bigint {
    return this.height
  }

  get blockTime(): bigint {
    return this.timeOf(this.height)
  }

  /** Seconds since 1970 at which a block was made. */
  timeOf(height: bigint): bigint {
    const ageSeconds = Number(this.height - height) * SECONDS_PER_BLOCK
    return BigInt(Math.floor(Date.now() / 1000 + this.aheadSeconds - ageSeconds))
  }

  get lastValidBlockHeight(): bigint {
    return this.height + BLOCKHASH_LIFE_BLOCKS
  }

  /** Lets so many blocks pass (a minute's worth) that no transaction with the present blockhash can be processed any more. */
  expireBlockhash(): void {
    this.svm.expireBlockhash()
    this.passBlocks(BLOCKHASH_LIFE_BLOCKS + 1n)
  }

  passBlocks(count: bigint): void {
    this.height += count
    this.aheadSeconds += Number(count) * SECONDS_PER_BLOCK
  }

  /** Transactions are taken from now on, and wait. */
  stopProcessing(): void {
    this.halted = true
  }

  /** Processes what waits, except what has expired meanwhile: that vanishes, as on a cluster. */
  resumeProcessing(): void {
    this.halted = false
    for (const transaction of this.waiting.splice(0)) this.process(transaction)
  }

  find(signature: unknown): ProcessedTransaction | undefined {
    return this.history.find((processed) => processed.signature === signature)
  }

  /** Takes a transaction as a node does: with preflight a failing one is refused and never on the chain. */
  send(transaction: Transaction, { skipPreflight }: { skipPreflight: boolean }): Outcome {
    if (!skipPreflight) {
      const simulated = this.svm.simulateTransaction(transaction)
      if (simulated instanceof FailedTransactionMetadata) return { refused: simulated }
    }
    if (this.halted) this.waiting.push(transaction)
    else this.process(transaction)
    return { signature: signatureOf(transaction) }
  }

  /** Where the fee payer's signature is still missing, none is checked. */
  simulate(transaction: Transaction) {
    if (!Object.values(transaction.signatures).includes(null)) return this.svm.simulateTransaction(transaction)
    this.svm.withSigverify(false)
    try {
      return this.svm.simulateTransaction(transaction)
    } finally {
      this.svm.withSigverify(true)
    }
  }

  private process(transaction: Transaction): void {
    const signature = signatureOf(transaction)
    if (this.find(signature) !== undefined) return
    const message = getCompiledTransactionMessageDecoder().decode(transaction.messageBytes)
    const accounts = message.staticAccounts
    const preTokenBalances = tokenBalances(this.svm, accounts)
    const sent = this.svm.sendTransaction(transaction)
    // Not in the runtime's history: it was refused before it paid a fee, so no block holds it.
    if (this.svm.getTransaction(signature as never) === null) return
    const failed = sent instanceof FailedTransactionMetadata
    this.history.push({
      signature,
      transaction,
      accounts,
      slot: this.height,
      blockTime: this.blockTime,
      err: failed ? failureOf(sent) : null,
      meta: failed ? sent.meta() : sent,
      preTokenBalances,
      postTokenBalances: tokenBalances(this.svm, accounts),
    })
  }
}

const FAILURES = new Map([
  [4, 'InsufficientFundsForFee'],
  [6, 'AlreadyProcessed'],
  [7, 'BlockhashNotFound'],
  [11, 'SignatureFailure'],
])

export function failureOf(failed: FailedTransactionMetadata): TransactionFailure {
  const error = failed.err()
  if (typeof error === 'number') return FAILURES.get(error) ?? `TransactionError${error}`
  if (!('err' in error)) return String(error)
  const cause = error.err()
  const custom = typeof cause === 'object' && 'code' in cause
  return { InstructionError: [error.index, custom ? { Custom: cause.code } : String(cause)] }
}

function signatureOf(transaction: Transaction): string {
  const first = Object.values(transaction.signatures)[0]
  if (first === null || first === undefined) throw new Error('the fee payer has not signed')
  return getBase58Decoder().decode(first)
}

const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
const TOKEN_ACCOUNT_BYTES = 165

function tokenBalances(svm: LiteSVM, accounts: readonly Address[]): TokenBalance[] {
  return accounts.flatMap((address, accountIndex) => {
    const account = svm.getAccount(address)
    if (!account.exists || account.programAddress !== TOKEN_PROGRAM || account.data.length !== TOKEN_ACCOUNT_BYTES) {
      return []
    }
    const data = Buffer.from(account.data)
    const text = (start: number): string => getBase58Decoder().decode(data.subarray(start, start + 32))
    return [{ accountIndex, mint: text(0), owner: text(32), amount: data.readBigUInt64LE(64) }]
  })
}
