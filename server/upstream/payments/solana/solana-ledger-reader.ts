import { z } from 'zod'
import { decodeBase58 } from '../../../domain/wallets/base58.ts'
import { MEMO_PROGRAM, type PaymentTransfer } from './payment-transfer.ts'
import type { SolanaRpc } from './solana-rpc.ts'
import { readTransferMessage, type TransferMessage } from './transfer-message.ts'

/** A supermajority has voted for it: no such block was ever reverted. */
export const COMMITMENT: string = 'confirmed'
export const FINAL = 'finalized'
/**
 * Covers differences between our clock, the chain's and a lagging node. A blockhash known at the receipt lives for 60
 * to 90 s.
 */
const EXPIRY_MARGIN_SECONDS = 120
const SIGNATURE = /^[1-9A-HJ-NP-Za-km-z]{64,88}$/
/** A payment may be sent again long after it was settled. */
const SCAN_SECONDS_MAX = 86_400
const SCAN_PAGES_MAX = 5
const SCAN_PAGE = 1_000

const TokenBalances = z.array(
  z.object({ accountIndex: z.number(), mint: z.string(), uiTokenAmount: z.object({ amount: z.string() }) }),
)
const Transaction = z.object({
  transaction: z.tuple([z.base64(), z.literal('base64')]),
  meta: z.object({ err: z.unknown(), preTokenBalances: TokenBalances, postTokenBalances: TokenBalances }),
})
type Transaction = z.infer<typeof Transaction>

const Signatures = z.array(
  z.object({ signature: z.string(), memo: z.string().nullish(), blockTime: z.number().nullish() }),
)
const InContext = <Value>(value: z.ZodType<Value>) => z.object({ value })

/** A transaction that carries the payment, as the chain shows it. */
export interface Sighting {
  transactionId: string
  /** `failing`: it failed, and a reorganization could still undo that. */
  state: 'succeeded' | 'failed' | 'failing'
}

export interface SoughtPayment {
  message: TransferMessage
  transfer: PaymentTransfer
  receivedAt: Date
}

/**
 * Finds out with the operator's own node whether a payment's transaction is on the chain, and whether it still can be.
 */
export class SolanaLedgerReader {
  readonly #rpc: SolanaRpc

  constructor(rpc: SolanaRpc) {
    this.#rpc = rpc
  }

  /** Undefined if the chain has no such transaction, or one with another content. */
  async sight(transactionId: string, sought: SoughtPayment, commitment = COMMITMENT): Promise<Sighting | undefined> {
    // A facilitator may report anything.
    if (!isSignature(transactionId)) return undefined
    const found = await this.#transaction(transactionId, commitment)
    if (found === null || !holds(found, sought.message)) return undefined
    if (found.meta.err === null) {
      if (received(found, sought) !== sought.transfer.amountAtomic) {
        throw new Error(`the Solana node shows another amount than transaction ${transactionId} moves`)
      }
      return { transactionId, state: 'succeeded' }
    }
    const final = await this.#transaction(transactionId, FINAL)
    return { transactionId, state: final === null ? 'failing' : 'failed' }
  }

  /** Whether the transaction is finalized, or at least in a block that a supermajority has voted for. */
  async standing(transactionId: string, sought: SoughtPayment): Promise<'final' | 'present' | 'missing'> {
    for (const commitment of [FINAL, COMMITMENT]) {
      const sighting = await this.sight(transactionId, sought, commitment)
      if (sighting?.state === 'succeeded') return commitment === FINAL ? 'final' : 'present'
    }
    return 'missing'
  }

  /** Searches the latest transactions of the debited account for the payment, whoever submitted it. */
  async search(sought: SoughtPayment): Promise<Sighting | undefined> {
    const oldestSeconds = sought.receivedAt.getTime() / 1_000 - SCAN_SECONDS_MAX
    const memos = memosOf(sought.message)
    let before: string | undefined
    for (let page = 0; page < SCAN_PAGES_MAX; page++) {
      const listed = await this.#signatures(sought.transfer.source, before)
      const young = listed.filter(({ blockTime }) => (blockTime ?? Infinity) >= oldestSeconds)
      // Nodes list the memos, which distinguish payments without fetching each transaction.
      for (const { signature, memo } of young) {
        if (typeof memo === 'string' && !memos.every((text) => memo.includes(text))) continue
        const found = await this.sight(signature, sought)
        if (found !== undefined) return found
      }
      if (listed.length < SCAN_PAGE || young.length < listed.length) return undefined
      before = listed.at(-1)?.signature
    }
    throw new Error(`account ${sought.transfer.source} has too many transactions to search`)
  }

  /**
   * Whether no block can include the transaction any more: its blockhash is unknown to the finalized chain although
   * that has passed the receipt by a margin, so the blockhash cannot be too new either. Fails if the node's history
   * does not reach back to the receipt, because then it could not show the transaction.
   */
  async hasExpired({ message, receivedAt }: SoughtPayment): Promise<boolean> {
    const options = { commitment: FINAL }
    const known = await this.#rpc.call('isBlockhashValid', [message.blockhash, options], InContext(z.boolean()))
    if (known.value) return false
    const slot = await this.#rpc.call('getSlot', [options], z.number())
    const receivedSeconds = receivedAt.getTime() / 1_000
    if ((await this.#timeOf(slot)) < receivedSeconds + EXPIRY_MARGIN_SECONDS) return false
    const first = await this.#rpc.call('getFirstAvailableBlock', [], z.number())
    if ((await this.#timeOf(first)) > receivedSeconds - EXPIRY_MARGIN_SECONDS) {
      throw new Error('the history of the Solana node begins after the payment')
    }
    return true
  }

  #timeOf(slot: number): Promise<number> {
    return this.#rpc.call('getBlockTime', [slot], z.number())
  }

  #transaction(signature: string, commitment: string): Promise<Transaction | null> {
    const options = { commitment, encoding: 'base64', maxSupportedTransactionVersion: 0 }
    return this.#rpc.call('getTransaction', [signature, options], Transaction.nullable())
  }

  #signatures(account: string, before: string | undefined) {
    const options = { commitment: COMMITMENT, limit: SCAN_PAGE, ...(before === undefined ? {} : { before }) }
    return this.#rpc.call('getSignaturesForAddress', [account, options], Signatures)
  }
}

/** The message is everything that a transaction does: equal bytes are the same payment, whoever signed as fee payer. */
function holds({ transaction: [wire] }: Transaction, message: TransferMessage): boolean {
  return readTransferMessage(Buffer.from(wire, 'base64'))?.bytes.equals(message.bytes) === true
}

function received({ meta }: Transaction, { message, transfer }: SoughtPayment): bigint {
  const index = message.accounts.indexOf(transfer.destination)
  const amount = (balances: z.infer<typeof TokenBalances>): bigint => {
    const held = balances.find(({ accountIndex, mint }) => accountIndex === index && mint === transfer.mint)
    return BigInt(held?.uiTokenAmount.amount ?? 0)
  }
  return amount(meta.postTokenBalances) - amount(meta.preTokenBalances)
}

function memosOf({ instructions }: TransferMessage): string[] {
  return instructions.flatMap(({ program, data }) => (program === MEMO_PROGRAM ? [data.toString()] : []))
}

function isSignature(text: string): boolean {
  return SIGNATURE.test(text) && decodeBase58(text)?.length === 64
}
