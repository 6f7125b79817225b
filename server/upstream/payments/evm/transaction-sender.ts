import {
  BaseError,
  type Hash,
  type Hex,
  HttpRequestError,
  keccak256,
  type LocalAccount,
  NonceTooLowError,
  TimeoutError,
} from 'viem'
import type { Clock } from '../../../domain/clock.ts'
import type { EvmClient } from './evm-chain.ts'

/** A count that stands still for so long behind what was sent lacks a transaction: the node dropped it, and its place is free again. */
const STANDSTILL_MS = 30_000
/**
 * Several times what a contract wallet takes, and still cheap. A wallet's code decides how much gas the check of its
 * signature burns, and we pay for it.
 */
const GAS_MAX = 1_000_000n
/** Each one that fails lost its nonce to another process, which sent a transaction. */
const ATTEMPTS_MAX = 25
const TAKEN = /nonce too low|replacement transaction underpriced|already known|nonce has already been used/i

export interface Call {
  to: Hex
  data: Hex
}

export interface TransactionSenderParts {
  client: EvmClient
  account: LocalAccount
  chainId: number
  clock: Clock
}

/** Told of each transaction before it is sent, when its hash is known already. */
export type OnTransaction = (transactionId: string) => Promise<void>

/** The node answered nothing, so that the transaction may be on its way. */
export class MaybeSentError extends Error {
  override readonly name = 'MaybeSentError'
}

/**
 * Sends the transactions of one key, one at a time, so that concurrent ones get consecutive nonces. Other processes may
 * use the same key: a nonce that another one took is tried again with the next.
 */
export class TransactionSender {
  readonly account: LocalAccount
  readonly #client: EvmClient
  readonly #chainId: number
  readonly #clock: Clock
  #turn: Promise<unknown> = Promise.resolve()
  #last: { nonce: number; atMs: number } | undefined
  /** The node's count while it does not hold the last one, and since when it has been that. */
  #behind: { count: number; sinceMs: number } | undefined

  constructor({ client, account, chainId, clock }: TransactionSenderParts) {
    this.#client = client
    this.account = account
    this.#chainId = chainId
    this.#clock = clock
  }

  /** Fails before anything is sent when the call would revert, which would cost fees, or take too much gas. */
  async send(call: Call, onTransaction: OnTransaction): Promise<Hash> {
    // Without filling in nonce and fees first, which few nodes do in one call.
    const gas = await this.#client.estimateGas({ account: this.account, ...call, prepare: false })
    if (gas > GAS_MAX) throw new Error(`the transfer would take ${gas} gas, more than the ${GAS_MAX} that are paid for`)
    const turn = this.#turn.then(() => this.#sendNow({ ...call, gas: (gas * 12n) / 10n }, onTransaction))
    this.#turn = turn.catch(() => undefined)
    return turn
  }

  async #sendNow(call: Call & { gas: bigint }, onTransaction: OnTransaction): Promise<Hash> {
    for (let attempt = 1; ; attempt++) {
      const [nonce, fees] = await Promise.all([this.#nextNonce(), this.#client.estimateFeesPerGas()])
      const signed = await this.account.signTransaction({
        type: 'eip1559',
        chainId: this.#chainId,
        nonce,
        ...call,
        // A cap, not a price: a rise of the base fee must not leave it behind and block what comes after.
        maxFeePerGas: roundedUp(fees.maxFeePerGas * 2n),
        maxPriorityFeePerGas: roundedUp(fees.maxPriorityFeePerGas),
      })
      await onTransaction(keccak256(signed))
      try {
        const hash = await this.#client.sendRawTransaction({ serializedTransaction: signed })
        this.#last = { nonce, atMs: this.#clock.nowMs() }
        return hash
      } catch (error) {
        this.#last = undefined
        if (isUnanswered(error)) throw new MaybeSentError('the node did not say whether it took the transaction')
        if (!isTaken(error) || attempt === ATTEMPTS_MAX) throw error
      }
    }
  }

  /** The node's count; nodes behind a balancer may lag behind what was just sent. */
  async #nextNonce(): Promise<number> {
    const count = await this.#client.getTransactionCount({ address: this.account.address, blockTag: 'pending' })
    const last = this.#last
    if (last === undefined || count > last.nonce) {
      this.#behind = undefined
      return count
    }
    if (this.#behind?.count !== count) this.#behind = { count, sinceMs: last.atMs }
    return this.#clock.nowMs() - this.#behind.sinceMs > STANDSTILL_MS ? count : last.nonce + 1
  }
}

/**
 * The next power of two: processes that sign the same nonce at the same time offer the same, so that a node refuses the
 * second one. A higher offer would silently replace the first.
 */
function roundedUp(amount: bigint): bigint {
  return amount <= 1n ? 1n : 1n << BigInt((amount - 1n).toString(2).length)
}

/** No answer came, as opposed to one that refuses. */
export function isUnanswered(error: unknown): boolean {
  const isTransport = (cause: unknown): boolean => cause instanceof HttpRequestError || cause instanceof TimeoutError
  return error instanceof BaseError && error.walk(isTransport) !== null
}

function isTaken(error: unknown): boolean {
  if (!(error instanceof BaseError)) return false
  return error.walk((cause) => cause instanceof NonceTooLowError) !== null || TAKEN.test(error.message)
}
