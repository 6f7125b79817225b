import { type GetTransactionReturnType, type Hash, TransactionNotFoundError } from 'viem'
import type { Clock } from '../../../domain/clock.ts'
import type { Log } from '../../../domain/log.ts'
import type { ReserveFee } from '../../../domain/payments/payment-network.ts'
import type { EvmClient } from '../../chain/evm-client.ts'
import { absent } from './evm-chain.ts'
import type { GasAccount, OnTransaction } from './gas-account.ts'
import { capped, currentFees, doubled, type GasFees, outbidding } from './gas-fees.ts'

/** Fees of a wanted transaction are raised sooner; one that waits longer than this is abandoned. */
const BLOCKED_MS = 90_000
/** Gas of an empty transfer. */
const EMPTY_GAS = 21_000n
/** From today's fees up to the highest that an abandoned transaction may have offered. */
const DOUBLINGS_MAX = 10

export interface FeeRaiserParts {
  client: EvmClient
  account: GasAccount
  clock: Clock
  log: Log
  /** Maximum fee, except for the empty transfers that unblock the queue, which may offer twice as much. */
  maxFeePerGasWei: bigint
}

type Waiting = Extract<GetTransactionReturnType, { type: 'eip1559' }>

/**
 * Gets our transactions into blocks after the chain's fees rose above theirs: a waiting transaction blocks all that
 * have higher nonces. The same call is sent again under the same nonce with a higher fee, so only one of them counts.
 */
export class FeeRaiser {
  readonly #parts: FeeRaiserParts
  #blocked: { nonce: number; sinceMs: number } | undefined

  constructor(parts: FeeRaiserParts) {
    this.#parts = parts
  }

  /** For the pending transactions of one payment that were sent by our key. */
  async raise(
    hashes: readonly Hash[],
    onTransaction: OnTransaction,
    reserveFee: ReserveFee = async () => {},
  ): Promise<void> {
    const { client, account, log, maxFeePerGasWei } = this.#parts
    const waiting = await this.#firstWaiting(hashes)
    if (waiting === undefined) return
    const { nonce, gas, to, input: data, hash } = waiting
    const next = await client.getTransactionCount({ address: account.address, blockTag: 'latest' })
    if (next < nonce) return this.#clear(next, reserveFee)
    const fees = outbidding(waiting, await currentFees(client, maxFeePerGasWei))
    if (next > nonce || fees === undefined || to === null) return
    if (fees.maxFeePerGas > maxFeePerGasWei) {
      log.warn('a transaction is pending: a higher fee would exceed x402.base.maxFeePerGasGwei', {
        waiting: hash,
        nonce,
      })
      return
    }
    await reserveFee(gas * fees.maxFeePerGas)
    const { kind } = await account.handOver({ nonce, gas, to, data, fees }, onTransaction)
    log.info('the fee of a pending transaction was raised', { replaced: hash, nonce, outcome: kind })
  }

  async #firstWaiting(hashes: readonly Hash[]): Promise<Waiting | undefined> {
    const { client, account } = this.#parts
    const found = await Promise.all(
      hashes.map((hash) => absent(client.getTransaction({ hash }), TransactionNotFoundError)),
    )
    const own = found.filter((transaction): transaction is Waiting => {
      return (
        transaction?.type === 'eip1559' &&
        transaction.blockNumber === null &&
        transaction.from.toLowerCase() === account.address.toLowerCase()
      )
    })
    return own.toSorted((a, b) => a.nonce - b.nonce)[0]
  }

  /**
   * Replaces an abandoned transaction by an empty transfer, because its payment has expired or never existed. A payment
   * that loses its transaction this way is settled again.
   */
  async #clear(nonce: number, reserveFee: ReserveFee): Promise<void> {
    const { account, clock, log, maxFeePerGasWei } = this.#parts
    const nowMs = clock.nowMs()
    if (this.#blocked?.nonce !== nonce) this.#blocked = { nonce, sinceMs: nowMs }
    if (nowMs - this.#blocked.sinceMs < BLOCKED_MS) return
    const highest = doubled({ maxFeePerGas: maxFeePerGasWei, maxPriorityFeePerGas: maxFeePerGasWei })
    await reserveFee(EMPTY_GAS * highest.maxFeePerGas)
    for (const fees of await this.#offers(highest.maxFeePerGas)) {
      const empty = { nonce, gas: EMPTY_GAS, to: account.address, data: '0x', fees } as const
      const { kind } = await account.handOver(empty, async () => {})
      if (kind === 'underpriced') continue
      log.warn('a transaction that delayed others was replaced by an empty one', { nonce, outcome: kind })
      return
    }
  }

  /**
   * From today's fees, doubled until one of them clearly exceeds the fees that an abandoned transaction may have
   * offered.
   */
  async #offers(highestWei: bigint): Promise<GasFees[]> {
    const { client, maxFeePerGasWei } = this.#parts
    let fees = await currentFees(client, maxFeePerGasWei)
    const offers = [fees]
    for (let index = 0; index < DOUBLINGS_MAX; index++) {
      fees = capped(doubled(fees), highestWei)
      offers.push(fees)
    }
    return offers
  }
}
