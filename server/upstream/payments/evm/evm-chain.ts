import {
  type Address,
  type Block,
  type Hash,
  type Log,
  parseAbi,
  parseEventLogs,
  TransactionNotFoundError,
  type TransactionReceipt,
  TransactionReceiptNotFoundError,
} from 'viem'
import type {
  ChainOutcome,
  ChainTransfer,
  CreditedTransfer,
  LookUpHints,
  SignedPayment,
  TransferStanding,
} from '../../../domain/payments/payment-network.ts'
import { EXPIRY_MARGIN_MS } from '../../../domain/payments/payment-schedule.ts'
import type { EvmClient } from '../../chain/evm-client.ts'
import { type ConfirmationStep, confirmationsFor } from './confirmations.ts'
import { payloadOf } from './evm-payment.ts'

/** Most nodes serve log queries over this many blocks. */
const LOG_BLOCKS_MAX = 2_000n
/**
 * A node may show the state of a block before its logs; a block two minutes old has both, and its state is still kept.
 */
const LOG_LAG_BLOCKS = 64n
const HASH = /^0x[0-9a-fA-F]{64}$/
/** How far before its arrival the search for a payment's transfer begins. */
const LOOK_BACK_SECONDS = 86_400n

const TOKEN_ABI = parseAbi([
  'function authorizationState(address authorizer, bytes32 nonce) view returns (bool)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
  'event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)',
  'event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce)',
])

export interface EvmDepths {
  /** Required confirmations of a transfer before it is credited. */
  confirmations: number | readonly ConfirmationStep[]
  /** Blocks after which no reorganization undoes a transfer. */
  finalityBlocks: number
}

/** Reads EIP-3009 payments on an EVM chain through the operator's own node. */
export class EvmChain {
  readonly #client: EvmClient
  readonly #depths: EvmDepths

  constructor(client: EvmClient, depths: EvmDepths) {
    this.#client = client
    this.#depths = depths
  }

  /**
   * The transfer, whoever submitted it; found by the payer's nonce, which the token marks as used in that transaction.
   */
  async lookUp(payment: SignedPayment, { transactionIds, receivedAt }: LookUpHints): Promise<ChainOutcome> {
    const told = await Promise.all(
      toHashes(transactionIds).map(async (hash) => ({ hash, receipt: await this.#receipt(hash) })),
    )
    for (const { receipt } of told) {
      const transfer = receipt === undefined ? undefined : findTransfer(receipt, payment)
      if (receipt !== undefined && transfer !== undefined) return this.#paid(receipt, transfer)
    }
    const reverted = told.filter(({ receipt }) => receipt?.status === 'reverted').map(({ hash }) => hash)
    const outcome = await this.#lookUpByNonce(payment, receivedAt, told)
    return outcome.kind === 'paid' || reverted.length === 0 ? outcome : { ...outcome, failedTransactionIds: reverted }
  }

  async #lookUpByNonce(payment: SignedPayment, receivedAt: Date, told: readonly Told[]): Promise<ChainOutcome> {
    const head = await this.#client.getBlock({ blockTag: 'latest' })
    if (await this.#isUsed(payment, head.number)) return this.#findUse(payment, receivedAt, head)
    if (isOver(payment, head.timestamp)) return { kind: 'impossible', reason: 'authorization_expired' }
    const open = told.filter(({ receipt }) => receipt === undefined)
    const waiting = await Promise.all(open.map(({ hash }) => this.#waits(hash)))
    return { kind: 'pending', sent: waiting.includes(true) || (open.length > 0 && 'perhaps') }
  }

  /** Whether a credited transfer is still in its place, or anywhere on the chain. */
  async recheck(
    payment: SignedPayment,
    { transactionId, transferIndex }: CreditedTransfer,
    hints: LookUpHints,
  ): Promise<TransferStanding> {
    const [hash] = toHashes([transactionId])
    const receipt = hash === undefined ? undefined : await this.#receipt(hash)
    const transfer = receipt === undefined ? undefined : findTransfer(receipt, payment)
    if (receipt !== undefined && transfer?.transferIndex === transferIndex) {
      return { kind: (await this.#depthOf(receipt)) >= BigInt(this.#depths.finalityBlocks) ? 'final' : 'present' }
    }
    const outcome = await this.lookUp(payment, hints)
    return outcome.kind === 'paid' ? { kind: 'moved', transfer: outcome.transfer } : { kind: 'missing' }
  }

  async #isUsed(payment: SignedPayment, blockNumber: bigint): Promise<boolean> {
    const { from, nonce } = payloadOf(payment).authorization
    return this.#client.readContract({
      address: payment.asset as Address,
      abi: TOKEN_ABI,
      functionName: 'authorizationState',
      args: [from, nonce],
      blockNumber,
    })
  }

  async #paid(receipt: TransactionReceipt, transfer: ChainTransfer): Promise<ChainOutcome> {
    const confirmed = await this.#isConfirmed(receipt, transfer.amountAtomic)
    return confirmed ? { kind: 'paid', transfer } : { kind: 'pending', sent: true }
  }

  async #isConfirmed(receipt: TransactionReceipt, amountAtomic: bigint): Promise<boolean> {
    const required = confirmationsFor(this.#depths.confirmations, amountAtomic)
    return required <= 1n || (await this.#depthOf(receipt)) >= required
  }

  async #depthOf({ blockNumber }: TransactionReceipt): Promise<bigint> {
    return (await this.#client.getBlockNumber()) - blockNumber + 1n
  }

  /** Backwards from the newest block, in ranges that nodes accept. */
  async #findUse(
    payment: SignedPayment,
    receivedAt: Date,
    head: Block<bigint, false, 'latest'>,
  ): Promise<ChainOutcome> {
    const { from, nonce, validAfter } = payloadOf(payment).authorization
    const earliest = BigInt(Math.floor(receivedAt.getTime() / 1_000)) - LOOK_BACK_SECONDS
    const since = BigInt(validAfter) > earliest ? BigInt(validAfter) : earliest
    for (let toBlock = head.number; ; toBlock -= LOG_BLOCKS_MAX) {
      const fromBlock = toBlock >= LOG_BLOCKS_MAX ? toBlock - LOG_BLOCKS_MAX + 1n : 0n
      const query = { address: payment.asset as Address, fromBlock, toBlock }
      const [used] = await this.#client.getLogs({ ...query, event: TOKEN_ABI[2], args: { authorizer: from, nonce } })
      if (used !== undefined) return this.#useOf(payment, used)
      const [canceled] = await this.#client.getLogs({
        ...query,
        event: TOKEN_ABI[3],
        args: { authorizer: from, nonce },
      })
      if (canceled !== undefined) return { kind: 'impossible', reason: 'authorization_canceled' }
      const { timestamp } = await this.#client.getBlock({ blockNumber: fromBlock })
      if (fromBlock > 0n && timestamp >= since) continue
      const isOld = head.number > LOG_LAG_BLOCKS && (await this.#isUsed(payment, head.number - LOG_LAG_BLOCKS))
      return isOld ? { kind: 'impossible', reason: 'nonce_already_used_before' } : { kind: 'pending', sent: true }
    }
  }

  async #useOf(payment: SignedPayment, { transactionHash }: Log<bigint, number, false>): Promise<ChainOutcome> {
    const receipt = await this.#receipt(transactionHash)
    const transfer = receipt === undefined ? undefined : findTransfer(receipt, payment)
    if (receipt === undefined) return { kind: 'pending', sent: true }
    if (transfer !== undefined) return this.#paid(receipt, transfer)
    // The payer signed another transfer under the same nonce: once that one is confirmed, this one can never be used.
    const confirmed = await this.#isConfirmed(receipt, payment.amountAtomic)
    return confirmed ? { kind: 'impossible', reason: 'nonce_already_used_otherwise' } : { kind: 'pending', sent: true }
  }

  async #receipt(hash: Hash): Promise<TransactionReceipt | undefined> {
    return absent(this.#client.getTransactionReceipt({ hash }), TransactionReceiptNotFoundError)
  }

  /** Whether the node keeps the transaction as pending. */
  async #waits(hash: Hash): Promise<boolean> {
    const found = this.#client.getTransaction({ hash })
    return (await absent(found, TransactionNotFoundError)) !== undefined
  }
}

/** A transaction that was submitted for a payment. */
interface Told {
  hash: Hash
  receipt: TransactionReceipt | undefined
}

/** Undefined if the node does not have the value. */
export async function absent<Value>(
  found: Promise<Value>,
  kind: new (...parameters: never[]) => Error,
): Promise<Value | undefined> {
  try {
    return await found
  } catch (error) {
    if (error instanceof kind) return undefined
    throw error
  }
}

/** Whether the chain has passed the end of the payment's validity by the margin. */
function isOver({ validUntil }: SignedPayment, headSeconds: bigint): boolean {
  return validUntil !== null && Number(headSeconds) * 1_000 > validUntil.getTime() + EXPIRY_MARGIN_MS
}

/** A remote facilitator may report anything. */
export function toHashes(transactionIds: readonly string[]): Hash[] {
  return transactionIds.filter((id): id is Hash => HASH.test(id))
}

/**
 * The transfer that used the payment's nonce. One transaction may settle several payments, so only the token's log
 * right after the use of this nonce counts.
 */
function findTransfer(receipt: TransactionReceipt, payment: SignedPayment): ChainTransfer | undefined {
  if (receipt.status !== 'success') return undefined
  const asset = payment.asset.toLowerCase()
  const { from, to, value, nonce } = payloadOf(payment).authorization
  const own = receipt.logs.filter((log) => log.address.toLowerCase() === asset)
  const events = parseEventLogs({ abi: TOKEN_ABI, logs: own })
  const use = events.findIndex(
    (event) =>
      event.eventName === 'AuthorizationUsed' &&
      event.args.authorizer.toLowerCase() === from &&
      event.args.nonce.toLowerCase() === nonce,
  )
  const next = use < 0 ? undefined : events[use + 1]
  if (next?.eventName !== 'Transfer') return undefined
  const { args, logIndex, transactionHash } = next
  const fits = args.from.toLowerCase() === from && args.to.toLowerCase() === to && args.value === BigInt(value)
  if (!fits) return undefined
  // Counted from the transaction's first log, because indexes within a block change when a reorganization moves the
  // transaction.
  const transferIndex = logIndex - (receipt.logs[0]?.logIndex ?? 0)
  return { transactionId: transactionHash, transferIndex, payer: payment.payer, amountAtomic: args.value }
}
