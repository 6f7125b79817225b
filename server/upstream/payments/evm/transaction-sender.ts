import type { Address, Hash } from 'viem'
import type { Clock } from '../../../domain/clock.ts'
import type { ReserveFee } from '../../../domain/payments/payment-network.ts'
import type { EvmClient } from '../../chain/evm-client.ts'
import type { Call, GasAccount, OnTransaction } from './gas-account.ts'
import { currentFees } from './gas-fees.ts'

/**
 * If the node's count lags behind the sent transactions for this long, the node dropped one, and its nonce is free
 * again.
 */
const STANDSTILL_MS = 30_000
const noReserve: ReserveFee = async () => {}
/** Each failed attempt lost its nonce to another process, which sent a transaction. */
const ATTEMPTS_MAX = 25

export interface TransactionSenderParts {
  client: EvmClient
  account: GasAccount
  clock: Clock
  limits: GasLimits
}

/** Their product, plus a fifth, is the maximum cost of one transaction. */
export interface GasLimits {
  /**
   * By the node's estimate. A wallet's code decides how much gas its signature check uses, and the operator pays for
   * it.
   */
  maxGas: bigint
  maxFeePerGasWei: bigint
}

/**
 * Sends the transactions of one key, one at a time, so concurrent ones get consecutive nonces. Other processes may use
 * the same key: if another one takes a nonce, the next one is tried.
 */
export class TransactionSender {
  readonly #client: EvmClient
  readonly #account: GasAccount
  readonly #clock: Clock
  readonly #limits: GasLimits
  #turn: Promise<unknown> = Promise.resolve()
  #last: { nonce: number; atMs: number } | undefined
  /** The node's count while it lacks the last transaction, and since when. */
  #behind: { count: number; sinceMs: number } | undefined

  constructor({ client, account, clock, limits }: TransactionSenderParts) {
    this.#limits = limits
    this.#client = client
    this.#account = account
    this.#clock = clock
  }

  get address(): Address {
    return this.#account.address
  }

  /** Fails before anything is sent if the call would revert, which would still cost fees, or use too much gas. */
  async send(call: Call, onTransaction: OnTransaction, reserveFee: ReserveFee = noReserve): Promise<Hash> {
    // Without filling in nonce and fees first, because few nodes do both in one call.
    const gas = await this.#client.estimateGas({ account: this.address, ...call, prepare: false })
    const { maxGas } = this.#limits
    if (gas > maxGas) throw new Error(`the transfer would take ${gas} gas, above the maximum of ${maxGas}`)
    const turn = this.#turn.then(() => this.#sendNow({ ...call, gas: (gas * 12n) / 10n }, onTransaction, reserveFee))
    this.#turn = turn.catch(() => undefined)
    return turn
  }

  async #sendNow(call: Call & { gas: bigint }, onTransaction: OnTransaction, reserveFee: ReserveFee): Promise<Hash> {
    let reserved = 0n
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
      const [nonce, fees] = await Promise.all([
        this.#nextNonce(),
        currentFees(this.#client, this.#limits.maxFeePerGasWei),
      ])
      const cost = call.gas * fees.maxFeePerGas
      if (cost > reserved) await reserveFee(cost - reserved)
      if (cost > reserved) reserved = cost
      this.#last = undefined
      const handover = await this.#account.handOver({ ...call, nonce, fees }, onTransaction)
      if (handover.kind !== 'sent') continue
      this.#last = { nonce, atMs: this.#clock.nowMs() }
      return handover.hash
    }
    throw new Error('other processes took every nonce that was tried')
  }

  /** The node's count; nodes behind a balancer may lag behind the latest transactions. */
  async #nextNonce(): Promise<number> {
    const count = await this.#client.getTransactionCount({ address: this.address, blockTag: 'pending' })
    const last = this.#last
    if (last === undefined || count > last.nonce) {
      this.#behind = undefined
      return count
    }
    if (this.#behind?.count !== count) this.#behind = { count, sinceMs: last.atMs }
    return this.#clock.nowMs() - this.#behind.sinceMs > STANDSTILL_MS ? count : last.nonce + 1
  }
}
