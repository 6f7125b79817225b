import type { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import { type Abi, encodeFunctionData, type Hash, type TransactionReceipt, type VerifyTypedDataParameters } from 'viem'
import { FeeBudgetError, type ReserveFee } from '../../../domain/payments/payment-network.ts'
import { createScopedClient, type EvmClient } from '../../chain/evm-client.ts'
import { isUnanswered } from '../../chain/unanswered.ts'
import { MaybeSentError, type OnTransaction } from './gas-account.ts'
import { FeesTooHighError } from './gas-fees.ts'
import type { TransactionSender } from './transaction-sender.ts'

type FacilitatorSigner = ConstructorParameters<typeof ExactEvmScheme>[0]

const RECEIPT_WAIT_MS = 30_000

/** Events of one operation that are missing in the facilitator's own response. */
export interface Observed {
  /** The node gave no response, so a rejection says nothing about the payment. */
  unanswered: unknown
  /** A transaction may have been sent although sending failed. */
  maybeSent: boolean
  /** Addresses without code, in lower case: only a simulation checks an ERC-6492 signature of one. */
  undeployed: Set<string>
  /** The chain's fees exceed the operator's maximum, so nothing was sent. */
  feesTooHigh: boolean
  /** Fee in wei of the mined transaction. */
  fee: bigint | undefined
}

export interface Sending {
  sender: TransactionSender
  onTransaction: OnTransaction
  reserveFee: ReserveFee
}

/**
 * The signer that x402's facilitator uses for one operation: reads of the operator's node until the signal aborts, and
 * with `sending` also transactions of the operator's key.
 */
export function createSigner(
  client: EvmClient,
  { asset, signal }: { asset: string; signal: AbortSignal },
  sending?: Sending,
): { signer: FacilitatorSigner; observed: Observed } {
  const observed: Observed = {
    unanswered: undefined,
    maybeSent: false,
    undeployed: new Set(),
    feesTooHigh: false,
    fee: undefined,
  }
  const reader = createScopedClient(client, signal, (error) => {
    if (isUnanswered(error)) observed.unanswered = error
  })
  // The facilitator's library turns every failure into a rejection of the payment, but a lost database is not one.
  const reserveFee: ReserveFee = async (amount) => {
    try {
      await sending?.reserveFee(amount)
    } catch (error) {
      if (!(error instanceof FeeBudgetError)) observed.unanswered = error
      throw error
    }
  }
  const send = async (call: { to: `0x${string}`; data: `0x${string}` }): Promise<Hash> => {
    if (sending === undefined) throw new Error('there is no key to send transactions with')
    try {
      return await sending.sender.send(call, sending.onTransaction, reserveFee)
    } catch (error) {
      if (error instanceof MaybeSentError) observed.maybeSent = true
      if (error instanceof FeesTooHighError) observed.feesTooHigh = true
      if (isUnanswered(error)) observed.unanswered = error
      throw error
    }
  }
  const signer: FacilitatorSigner = {
    getAddresses: () => (sending === undefined ? [] : [sending.sender.address]),
    readContract: (call) => reader.readContract({ ...call, abi: call.abi as Abi }),
    verifyTypedData: (data) => reader.verifyTypedData(data as VerifyTypedDataParameters),
    getCode: async ({ address }) => {
      const code = await reader.getCode({ address }).catch((error: unknown) => {
        if (address.toLowerCase() !== asset.toLowerCase()) throw error
        // The library requests the token's code and may never await it: a rejection would end the process.
        observed.unanswered = error
        return undefined
      })
      if (code === undefined) observed.undeployed.add(address.toLowerCase())
      return code
    },
    writeContract: ({ address, abi, functionName, args }) =>
      send({ to: address, data: encodeFunctionData({ abi: abi as Abi, functionName, args }) }),
    sendTransaction: send,
    waitForTransactionReceipt: async ({ hash }) => {
      const receipt = await client.waitForTransactionReceipt({ hash, timeout: RECEIPT_WAIT_MS })
      observed.fee = costOf(receipt)
      return { status: receipt.status, logs: receipt.logs }
    },
  }
  return { signer, observed }
}

/** Rollups such as Base also charge for data on the underlying chain. */
function costOf(receipt: TransactionReceipt): bigint {
  const dataFee = 'l1Fee' in receipt && typeof receipt.l1Fee === 'string' ? BigInt(receipt.l1Fee) : 0n
  return receipt.gasUsed * receipt.effectiveGasPrice + dataFee
}
