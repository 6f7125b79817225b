import type { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import { type Abi, encodeFunctionData, type Hash, type VerifyTypedDataParameters } from 'viem'
import { createScopedClient, type EvmClient } from '../../chain/evm-client.ts'
import { MaybeSentError, type OnTransaction } from './gas-account.ts'
import type { TransactionSender } from './transaction-sender.ts'
import { isUnanswered } from '../../chain/unanswered.ts'

type FacilitatorSigner = ConstructorParameters<typeof ExactEvmScheme>[0]

const RECEIPT_WAIT_MS = 30_000

/** What happened during one operation that the facilitator's own answer does not tell. */
export interface Observed {
  /** The node gave no answer, so that a refusal says nothing about the payment. */
  unanswered: unknown
  /** A transaction may have been sent though the sending failed. */
  maybeSent: boolean
  /** Addresses without code, in lower case: an ERC-6492 signature of one is checked by nothing but the trial run. */
  undeployed: Set<string>
}

export interface Sending {
  sender: TransactionSender
  onTransaction: OnTransaction
}

/**
 * What x402's facilitator works with in one operation: reads of our node until the signal aborts, and with `sending`
 * transactions of our key.
 */
export function createSigner(
  client: EvmClient,
  signal: AbortSignal,
  sending?: Sending,
): { signer: FacilitatorSigner; observed: Observed } {
  const observed: Observed = { unanswered: undefined, maybeSent: false, undeployed: new Set() }
  const reader = createScopedClient(client, signal, (error) => {
    if (isUnanswered(error)) observed.unanswered = error
  })
  const send = async (call: { to: `0x${string}`; data: `0x${string}` }): Promise<Hash> => {
    if (sending === undefined) throw new Error('there is no key to send transactions with')
    try {
      return await sending.sender.send(call, sending.onTransaction)
    } catch (error) {
      if (error instanceof MaybeSentError) observed.maybeSent = true
      if (isUnanswered(error)) observed.unanswered = error
      throw error
    }
  }
  const signer: FacilitatorSigner = {
    getAddresses: () => (sending === undefined ? [] : [sending.sender.address]),
    readContract: (call) => reader.readContract({ ...call, abi: call.abi as Abi }),
    verifyTypedData: (data) => reader.verifyTypedData(data as VerifyTypedDataParameters),
    getCode: async ({ address }) => {
      const code = await reader.getCode({ address })
      if (code === undefined) observed.undeployed.add(address.toLowerCase())
      return code
    },
    writeContract: ({ address, abi, functionName, args }) =>
      send({ to: address, data: encodeFunctionData({ abi: abi as Abi, functionName, args }) }),
    sendTransaction: send,
    waitForTransactionReceipt: async ({ hash }) => {
      const { status, logs } = await client.waitForTransactionReceipt({ hash, timeout: RECEIPT_WAIT_MS })
      return { status, logs }
    },
  }
  return { signer, observed }
}
