import {
  type Address,
  BaseError,
  type Hash,
  type Hex,
  keccak256,
  type LocalAccount,
  NonceTooLowError,
  TransactionNotFoundError,
} from 'viem'
import type { EvmClient } from '../../chain/evm-client.ts'
import { isUnanswered } from '../../chain/unanswered.ts'
import type { GasFees } from './gas-fees.ts'

const USED = /nonce too low|nonce has already been used/i
const KNOWN = /already known|already imported/i
const UNDERPRICED = /underpriced/i

export interface Call {
  to: Hex
  data: Hex
}

export interface Offer extends Call {
  nonce: number
  gas: bigint
  fees: GasFees
}

/**
 * `used`: a block contains another transaction with this nonce. `underpriced`: another one with this nonce is pending
 * and offers as much.
 */
export type Handover = { kind: 'sent'; hash: Hash } | { kind: 'used' | 'underpriced' }

/** Called for each transaction before it is sent, when its hash is already known. */
export type OnTransaction = (transactionId: string) => Promise<void>

/** The node did not respond, so the transaction may have been sent. */
export class MaybeSentError extends Error {
  override readonly name = 'MaybeSentError'
}

export interface GasAccountParts {
  client: EvmClient
  account: LocalAccount
  chainId: number
}

/** The key that pays for gas. Signing is deterministic, so equal offers are one transaction in every process. */
export class GasAccount {
  readonly #account: LocalAccount
  readonly #client: EvmClient
  readonly #chainId: number

  constructor({ client, account, chainId }: GasAccountParts) {
    this.#client = client
    this.#account = account
    this.#chainId = chainId
  }

  get address(): Address {
    return this.#account.address
  }

  /**
   * Signs a transaction and hands it to the node. Fails with `MaybeSentError` if the node may have accepted it without
   * confirming.
   */
  async handOver({ fees, ...offer }: Offer, onTransaction: OnTransaction): Promise<Handover> {
    const serializedTransaction = await this.#account.signTransaction({
      type: 'eip1559',
      chainId: this.#chainId,
      ...offer,
      ...fees,
    })
    const hash = keccak256(serializedTransaction)
    await onTransaction(hash)
    try {
      await this.#client.sendRawTransaction({ serializedTransaction })
      return { kind: 'sent', hash }
    } catch (error) {
      return this.#explain(error, hash)
    }
  }

  /**
   * Gateways resend requests without a response: the node then rejects its own transaction as known, or its nonce as
   * used.
   */
  async #explain(error: unknown, hash: Hash): Promise<Handover> {
    if (isUsed(error)) return (await this.#isKnown(hash)) ? { kind: 'sent', hash } : { kind: 'used' }
    if (error instanceof BaseError && KNOWN.test(error.message)) return { kind: 'sent', hash }
    if (error instanceof BaseError && UNDERPRICED.test(error.message)) return { kind: 'underpriced' }
    throw isUnanswered(error) ? notSaid() : error
  }

  async #isKnown(hash: Hash): Promise<boolean> {
    try {
      await this.#client.getTransaction({ hash })
      return true
    } catch (error) {
      if (error instanceof TransactionNotFoundError) return false
      throw notSaid()
    }
  }
}

function isUsed(error: unknown): boolean {
  if (!(error instanceof BaseError)) return false
  return error.walk((cause) => cause instanceof NonceTooLowError) !== null || USED.test(error.message)
}

function notSaid(): MaybeSentError {
  return new MaybeSentError('the node did not confirm whether it accepted the transaction')
}
